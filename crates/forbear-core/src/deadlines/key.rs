use std::hash::{BuildHasher, Hasher};

use http::Uri;

use crate::host::{Host, is_normal};
use crate::partition::Partition;

/// What a deadline is recorded under: scheme, lower-case authority without userinfo, default port and trailing dot,
/// path, and partition; no query. Kept as keyed 64-bit hashes, so that a million cost little and nobody can choose collisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlKey {
    pub(super) url: u64,
    /// The same without the path: what is recorded under when the map is full.
    pub(super) authority: u64,
}

impl UrlKey {
    /// A URI without a host is that of `host`, the request's `Host` field.
    #[inline]
    pub(super) fn of(
        uri: &Uri,
        host: Option<&str>,
        partition: Option<Partition>,
        hasher: &impl BuildHasher,
    ) -> Self {
        let mut hash = hasher.build_hasher();
        if let Some(partition) = partition {
            hash.write_u64(partition.hashed());
        }
        let https = uri.scheme_str() != Some("http");
        hash.write_u8(u8::from(https));
        let authority = uri.authority().map(http::uri::Authority::as_str).or(host).unwrap_or_default();
        if is_normal(authority) {
            hash.write(authority.as_bytes());
        } else if let Some(host) = Host::of(authority, https) {
            hash.write(host.full().as_bytes());
        }
        let authority = hash.finish();
        hash.write(uri.path().as_bytes());
        Self { url: hash.finish(), authority }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_url_has_one_key() {
        let hasher = foldhash::fast::RandomState::default();
        let key = |uri: &'static str| UrlKey::of(&Uri::from_static(uri), None, None, &hasher);
        let plain = key("https://api.example.com/v1/chart");
        for same in [
            "https://API.example.com:443/v1/chart",
            "https://user:pass@api.example.com/v1/chart?token=1",
            "https://api.example.com./v1/chart",
        ] {
            assert_eq!(key(same), plain, "{same}");
        }
        assert_eq!(key("http://api.example.com:80/"), key("http://api.example.com"));
        let uri = Uri::from_static("https://api.example.com/v1/chart");
        let of = |credential| UrlKey::of(&uri, None, Some(Partition::of(credential)), &hasher);
        assert!(of("one") == of("one") && of("one") != of("two") && of("one") != plain);
        let sibling = key("https://api.example.com/v1/quote");
        assert_eq!(sibling.authority, plain.authority);
        assert_ne!(sibling.url, plain.url);
        assert_ne!(key("http://api.example.com/v1/chart").url, plain.url);
        assert_ne!(key("https://api.example.com:8443/v1/chart").authority, plain.authority);
        assert_ne!(key("https://other.example.com/v1/chart").authority, plain.authority);
    }
}
