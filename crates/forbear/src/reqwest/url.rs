//! The URL of an attempt in reqwest's own type.

use std::cell::RefCell;

use http::Uri;
use http::uri::{Authority, Scheme};
use reqwest::Url;

/// Scheme and authority of a URL that was parsed, and that URL: most clients ask one host many times in a row, and to parse its
/// name costs more than all layers do.
struct Parsed {
    scheme: Scheme,
    authority: Authority,
    url: Url,
}

thread_local! {
    /// The host that this thread asked for last.
    static LAST: RefCell<Option<Parsed>> = const { RefCell::new(None) };
}

/// `uri` as reqwest would parse it, where its host is the one that this thread asked for last; `None` where it is another, or is none.
pub(super) fn known(uri: &Uri) -> Option<Url> {
    let (scheme, authority) = (uri.scheme()?, uri.authority()?);
    LAST.with_borrow(|last| {
        let last = last.as_ref()?;
        // Letter by letter: names and passwords in it are not the same in another case.
        if last.authority.as_str() != authority.as_str() || last.scheme != *scheme {
            return None;
        }
        let mut url = last.url.clone();
        url.set_path(uri.path());
        url.set_query(uri.query());
        Some(url)
    })
}

/// Notes how the host of `uri` was parsed. Not where it comes with a password, which is nothing to keep.
pub(super) fn note(uri: &Uri, url: &Url) {
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else { return };
    if url.cannot_be_a_base() || authority.as_str().contains('@') {
        return;
    }
    // What was asked of it is nothing to keep either.
    let mut url = url.clone();
    url.set_path("/");
    url.set_query(None);
    url.set_fragment(None);
    let parsed = Parsed { scheme: scheme.clone(), authority: authority.clone(), url };
    LAST.set(Some(parsed));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(uri: &Uri) -> Option<Url> {
        Url::parse(&uri.to_string()).ok()
    }

    #[track_caller]
    fn is_as_parsed(uri: &str) {
        let Ok(uri) = uri.parse::<Uri>() else { return };
        let Some(url) = parsed(&uri) else { return };
        note(&uri, &url);
        if let Some(known) = known(&uri) {
            assert_eq!(known, url, "{uri}");
        }
    }

    #[test]
    fn the_same_host_is_not_parsed_again() {
        let first = Uri::from_static("https://Api.Vendor.test:443/v1/a?b");
        note(&first, &parsed(&first).unwrap());
        let again = |uri: &'static str| known(&Uri::from_static(uri)).map(String::from);
        assert_eq!(again("https://Api.Vendor.test:443/x"), Some("https://api.vendor.test/x".to_owned()));
        assert_eq!(again("https://Api.Vendor.test:443"), Some("https://api.vendor.test/".to_owned()));
        assert_eq!(again("https://Api.Vendor.test:443/?q"), Some("https://api.vendor.test/?q".to_owned()));
        for other in
            ["http://Api.Vendor.test:443/x", "https://api.vendor.test/x", "https://Api.Vendor.test/x", "/x"]
        {
            assert_eq!(again(other), None, "{other}");
        }
    }

    #[test]
    fn a_password_is_not_kept() {
        let uri = Uri::from_static("https://name:secret@vendor.test/");
        note(&uri, &parsed(&uri).unwrap());
        assert!(known(&uri).is_none());
    }

    #[test]
    fn odd_paths_are_as_parsed() {
        for path in [
            "//evil.test/x",
            "/a/../b",
            "/./",
            "/%2e%2e/x",
            "/a//b",
            "/a/%2E/b/..",
            "/*",
            "/a;b=c",
            "/c:/x",
            "/{x}",
            "/~",
            "/x?a=%00&b='<>\"",
            "/?",
            "?x",
        ] {
            for scheme in ["http", "https", "ws", "other", "file"] {
                is_as_parsed(&format!("{scheme}://vendor.test{path}"));
            }
        }
    }

    proptest! {
        #[test]
        fn any_is_as_parsed(scheme in "https?|x", host in "[a-zA-Z0-9.:\\[\\]-]{1,12}", rest in "[/!-~]{0,20}") {
            is_as_parsed(&format!("{scheme}://{host}{rest}"));
            is_as_parsed(&format!("{scheme}://{host}/{rest}"));
        }
    }
}
