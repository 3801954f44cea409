//! Under what an answer is stored. Never the same for two hosts, schemes or credentials.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use http::header::{AUTHORIZATION, COOKIE, HOST, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{HeaderMap, Uri};

use crate::Partition;

/// What a request asks for, as whom. A keyed hash, drawn anew for every process: who does not know the key cannot make two
/// requests meet, and no credential is in it to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    what: u64,
    /// Zero where the request has no credentials.
    whose: u64,
}

/// Hashes keys.
#[derive(Debug, Default)]
pub(super) struct Keys(RandomState);

impl Keys {
    pub(super) fn of(&self, head: &Parts) -> Key {
        let whose = self.whose(head);
        Key { what: self.what(&head.uri, &head.headers), whose }
    }

    /// The same caller's key of another URL.
    pub(super) fn at(&self, uri: &Uri, headers: &HeaderMap, key: Key) -> Key {
        Key { what: self.what(uri, headers), ..key }
    }

    fn what(&self, uri: &Uri, headers: &HeaderMap) -> u64 {
        let mut hasher = self.0.build_hasher();
        uri.scheme_str().hash(&mut hasher);
        let authority = uri.authority().map(http::uri::Authority::as_str);
        let host =
            authority.map(str::as_bytes).or_else(|| headers.get(HOST).map(http::HeaderValue::as_bytes));
        for byte in host.unwrap_or_default() {
            hasher.write_u8(byte.to_ascii_lowercase());
        }
        hasher.write_u8(b'/');
        uri.path().hash(&mut hasher);
        uri.query().hash(&mut hasher);
        hasher.finish()
    }

    fn whose(&self, head: &Parts) -> u64 {
        let partition = head.extensions.get::<Partition>();
        let names = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE];
        if partition.is_none() && !names.iter().any(|name| head.headers.contains_key(name)) {
            return 0;
        }
        let mut hasher = self.0.build_hasher();
        partition.hash(&mut hasher);
        for name in &names {
            for value in head.headers.get_all(name) {
                (name.as_str(), value.as_bytes()).hash(&mut hasher);
            }
        }
        hasher.finish().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn hosts_schemes_queries_and_credentials_are_apart() {
        let keys = Keys::default();
        let mut with_partition = head("https://a.example/x", &[]);
        with_partition.extensions.insert(Partition::of("k"));
        let all = [
            head("https://a.example/x", &[]),
            head("http://a.example/x", &[]),
            head("https://b.example/x", &[]),
            head("https://a.example/x?y", &[]),
            head("https://a.example/X", &[]),
            head("https://a.example/x", &[("authorization", "Bearer 1")]),
            head("https://a.example/x", &[("authorization", "Bearer 2")]),
            head("https://a.example/x", &[("proxy-authorization", "Bearer 2")]),
            head("https://a.example/x", &[("cookie", "Bearer 2")]),
            head("/x", &[("host", "a.example")]),
            head("/x", &[("host", "b.example")]),
            with_partition,
        ];
        let found: std::collections::HashSet<_> = all.iter().map(|head| keys.of(head)).collect();
        assert_eq!(found.len(), all.len());
        let upper = head("https://A.example/x", &[("accept", "text/html")]);
        assert_eq!(keys.of(&upper), keys.of(&all[0]));
    }
}
