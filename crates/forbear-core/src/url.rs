//! URLs as they may be shown.

use std::fmt;

use http::Uri;

/// A URL without userinfo, query and fragment: the one form in which a URL is shown, logged or put in an error.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RedactedUrl(Box<str>);

impl RedactedUrl {
    /// What may be shown of `uri`.
    #[must_use]
    pub fn of(uri: &Uri) -> Self {
        let path = uri.path();
        let shown = match (uri.scheme_str(), uri.authority()) {
            (Some(scheme), Some(authority)) => {
                format!("{scheme}://{}{path}", without_userinfo(authority.as_str()))
            }
            (None, Some(authority)) => without_userinfo(authority.as_str()).to_owned(),
            _ => path.to_owned(),
        };
        Self(shown.into())
    }

    /// The shown form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `authority` without `user:password@`.
pub(crate) fn without_userinfo(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

impl fmt::Display for RedactedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RedactedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn userinfo_and_query_are_never_shown() {
        let uri = Uri::from_static("https://user:S1@api.example.com:8443/v1/chart?api_key=S2");
        let shown = RedactedUrl::of(&uri);
        assert_eq!(shown.to_string(), "https://api.example.com:8443/v1/chart");
        assert!(!format!("{shown:?}").contains('S'));
        assert_eq!(RedactedUrl::of(&Uri::from_static("/v1?x=S")).as_str(), "/v1");
        assert_eq!(RedactedUrl::of(&Uri::from_static("u:S@example.com:443")).as_str(), "example.com:443");
    }
}
