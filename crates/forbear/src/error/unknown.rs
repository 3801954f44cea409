use std::fmt;

use forbear_core::url::RedactedUrl;

/// A request that no family has, where the policy is to refuse such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFamily(Box<Asked>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    Name(String),
    Url(RedactedUrl),
}

impl UnknownFamily {
    pub(crate) fn of_name(name: impl Into<String>) -> Self {
        Self(Box::new(Asked::Name(name.into())))
    }

    pub(crate) fn of_url(url: RedactedUrl) -> Self {
        Self(Box::new(Asked::Url(url)))
    }

    /// The name that no family has; `None` where the request gave none.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &*self.0 {
            Asked::Name(name) => Some(name),
            Asked::Url(_) => None,
        }
    }

    /// The URL that no family has, without userinfo, query and fragment; `None` where a name was asked for.
    #[must_use]
    pub fn url(&self) -> Option<&RedactedUrl> {
        match &*self.0 {
            Asked::Name(_) => None,
            Asked::Url(url) => Some(url),
        }
    }
}

impl fmt::Display for UnknownFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Asked::Name(name) => {
                write!(f, "no family is named {name:?}; register it, or correct the name")
            }
            Asked::Url(url) if url.as_str().starts_with('/') => {
                write!(
                    f,
                    "{url} has no host to find a family by; give the request an absolute URI or a FamilyName"
                )
            }
            Asked::Url(url) => {
                write!(f, "no family has {url}; register its host, or choose another Unknown policy")
            }
        }
    }
}

impl std::error::Error for UnknownFamily {}
