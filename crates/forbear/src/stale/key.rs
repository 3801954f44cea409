//! Under what an answer is stored. Never the same for two hosts, schemes or credentials.

use std::borrow::Cow;

use forbear_core::store::ResponseSecret;
use http::header::{AUTHORIZATION, COOKIE, HOST, IF_MODIFIED_SINCE, IF_NONE_MATCH, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, Uri};

use super::directives::is_conditional;
use crate::Partition;

/// What a request asks for, as whom.
pub(super) use forbear_core::store::ResponseKey as Key;

/// Fields of HTTP that say who asks. What vendors call their keys [is known by their names](says_who).
const CREDENTIALS: [HeaderName; 3] = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE];

/// Hashes keys: by a secret, so that who does not know it can make no two requests meet, and no credential is in a key to be read. That of a
/// store stays the same in the next process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys(ResponseSecret);

impl Keys {
    pub(super) const fn new(secret: ResponseSecret) -> Self {
        Self(secret)
    }

    pub(super) fn of(&self, head: &Parts) -> Key {
        self.of_request(&head.uri, &head.headers, &head.extensions)
    }

    /// The same of a request that is whole.
    pub(super) fn of_request(&self, uri: &Uri, headers: &HeaderMap, extensions: &Extensions) -> Key {
        Key { what: self.what(uri, headers), whose: self.whose(uri, headers, extensions) }
    }

    /// The same caller's key of another URL.
    pub(super) fn at(&self, uri: &Uri, headers: &HeaderMap, key: Key) -> Key {
        Key { what: self.what(uri, headers), ..key }
    }

    /// The request fields that select a response, with their values; zero where none does.
    pub(super) fn variant(&self, vary: &[HeaderName], headers: &HeaderMap) -> u128 {
        if vary.is_empty() {
            return 0;
        }
        let mut hash = self.0.hash(b'v');
        for name in vary {
            let values = headers.get_all(name);
            // A value may be the name of the next field.
            let count = (values.iter().count() as u64).to_le_bytes();
            let _ = hash.part(name.as_str().as_bytes()).part(&count);
            for value in values {
                let _ = hash.part(value.as_bytes());
            }
        }
        hash.finish()
    }

    /// What a request says that it has already; zero where that is nothing.
    pub(super) fn conditions(&self, headers: &HeaderMap) -> u128 {
        if !is_conditional(headers) {
            return 0;
        }
        let mut hash = self.0.hash(b'i');
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE] {
            let _ = hash.part(name.as_str().as_bytes());
            for value in headers.get_all(name) {
                let _ = hash.part(value.as_bytes());
            }
        }
        hash.finish()
    }

    fn what(&self, uri: &Uri, headers: &HeaderMap) -> u128 {
        let (_, host) = authority(uri, headers);
        let mut hash = self.0.hash(b'u');
        let _ = hash.part(uri.scheme_str().unwrap_or_default().as_bytes()).part(&lower(host));
        let _ = hash.part(uri.path().as_bytes());
        if let Some(query) = uri.query() {
            let _ = hash.part(query.as_bytes());
        }
        // One server has many hosts: the URL says where it is, and the field which of them is asked.
        if let Some(virtual_host) =
            headers.get(HOST).filter(|named| !named.as_bytes().eq_ignore_ascii_case(host))
        {
            let _ = hash.part(b"host").part(&lower(virtual_host.as_bytes()));
        }
        hash.finish()
    }

    fn whose(&self, uri: &Uri, headers: &HeaderMap, extensions: &Extensions) -> u128 {
        let partition = extensions.get::<Partition>();
        let (user, _) = authority(uri, headers);
        let has = headers.keys().any(says_who);
        if partition.is_none() && user.is_empty() && !has {
            return 0;
        }
        let mut hash = self.0.hash(b'c');
        let _ = hash.part(&partition.map_or(0, |partition| partition.to_stored()).to_le_bytes()).part(user);
        for name in &CREDENTIALS {
            for value in headers.get_all(name) {
                let _ = hash.part(name.as_str().as_bytes()).part(value.as_bytes());
            }
        }
        // In whatever order they come.
        let others = headers.keys().filter(|name| has && says_who(name) && !CREDENTIALS.contains(name));
        match others.fold(0, |sum: u128, name| sum.wrapping_add(self.field(name, headers))) {
            0 => hash.finish(),
            others => hash.part(&others.to_le_bytes()).finish(),
        }
    }

    /// One field with all its values.
    fn field(&self, name: &HeaderName, headers: &HeaderMap) -> u128 {
        let mut hash = self.0.hash(b'f');
        let _ = hash.part(name.as_str().as_bytes());
        for value in headers.get_all(name) {
            let _ = hash.part(value.as_bytes());
        }
        hash.finish()
    }
}

/// Whether a field says who asks, by what the parts of its name end in: `X-Vault-Token`, `DD-API-KEY`, `X-Auth-Email`. To take one for such that is
/// none costs a hit; to miss one tells a user what is another's.
fn says_who(name: &HeaderName) -> bool {
    let name = name.as_str().as_bytes();
    let says = |part: &[u8]| {
        matches!(
            part,
            [.., b'k', b'e', b'y']
                | [.., b't', b'o', b'k', b'e', b'n']
                | [.., b'a', b'u', b't', b'h']
                | [.., b'a', b'u', b't', b'h', b'o', b'r', b'i', b'z', b'a', b't', b'i', b'o', b'n']
                | [.., b'c', b'o', b'o', b'k', b'i', b'e']
                | [.., b's', b'e', b's', b's', b'i', b'o', b'n']
                | [.., b's', b'e', b'c', b'r', b'e', b't']
                | [.., b'p', b'a', b's', b's', b'w', b'o', b'r', b'd']
                | [.., b'c', b'r', b'e', b'd', b'e', b'n', b't', b'i', b'a', b'l']
                | [.., b'c', b'r', b'e', b'd', b'e', b'n', b't', b'i', b'a', b'l', b's']
                | [.., b'j', b'w', b't']
        )
    };
    // That one is another with each request.
    !name.ends_with(b"idempotency-key") && name.split(|byte| matches!(byte, b'-' | b'_')).any(says)
}

/// Who asks by the URL, and which host and port; that of the field `Host` where the URL has none.
fn authority<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> (&'a [u8], &'a [u8]) {
    let Some(authority) = uri.authority() else {
        return (b"", headers.get(HOST).map(http::HeaderValue::as_bytes).unwrap_or_default());
    };
    let authority = authority.as_str();
    // Few have one, and to look for it in bytes is cheap.
    if !authority.as_bytes().contains(&b'@') {
        return (b"", authority.as_bytes());
    }
    match authority.rsplit_once('@') {
        Some((user, host)) => (user.as_bytes(), host.as_bytes()),
        None => (b"", authority.as_bytes()),
    }
}

fn lower(host: &[u8]) -> Cow<'_, [u8]> {
    match host.iter().any(u8::is_ascii_uppercase) {
        true => host.to_ascii_lowercase().into(),
        false => host.into(),
    }
}

/// The host of a request in lower case, without its port: what an operator may purge by.
pub(super) fn host_of(uri: &Uri, headers: &HeaderMap) -> std::sync::Arc<str> {
    let (_, host) = authority(uri, headers);
    let host = String::from_utf8_lossy(host).to_ascii_lowercase();
    // An address of IPv6 stands in brackets.
    let end = host.rfind(':').filter(|colon| host.rfind(']').is_none_or(|bracket| bracket < *colon));
    host[..end.unwrap_or(host.len())].into()
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
        let keys = Keys::new(ResponseSecret::random());
        let mut with_partition = head("https://a.example/x", &[]);
        with_partition.extensions.insert(Partition::of("k"));
        let mut all = vec![
            head("https://a.example/x", &[]),
            head("http://a.example/x", &[]),
            head("https://b.example/x", &[]),
            head("https://a.example:8443/x", &[]),
            head("https://a.example/x?y", &[]),
            head("https://a.example/x?", &[]),
            head("https://a.example/X", &[]),
            head("https://user:one@a.example/x", &[]),
            head("https://user:One@a.example/x", &[]),
            head("https://a.example/x", &[("authorization", "Bearer 1")]),
            head("https://a.example/x", &[("cookie", "a"), ("authorization", "Bearer 1")]),
            head("https://a.example/x", &[("cookie", "a"), ("cookie", "b")]),
            head("/x", &[("host", "a.example")]),
            head("/x", &[("host", "b.example")]),
            head("https://a.example/x", &[("host", "b.example")]),
            head("https://a.example/x?host", &[("host", "b.example")]),
            head("https://a.example/x?host", &[]),
            with_partition,
        ];
        for name in &CREDENTIALS {
            all.push(head("https://a.example/x", &[(name.as_str(), "Bearer 2")]));
        }
        for name in ["x-api-key", "x-goog-api-key", "private-token"] {
            all.push(head("https://a.example/x", &[(name, "Bearer 2")]));
        }
        let found: std::collections::HashSet<_> = all.iter().map(|head| keys.of(head)).collect();
        assert_eq!(found.len(), all.len());
        let upper = head("https://A.example/x", &[("accept", "text/html")]);
        assert_eq!(keys.of(&upper), keys.of(&all[0]));
        let named = head("https://a.example/x", &[("host", "A.Example")]);
        assert_eq!(keys.of(&named), keys.of(&all[0]));
        let turned = [("authorization", "Bearer 1"), ("accept", "*/*"), ("cookie", "a")]
            .map(|(name, value)| (name, value));
        assert_eq!(keys.of(&head("https://a.example/x", &turned)), keys.of(&all[10]));
    }

    #[test]
    fn fields_say_who_asks_by_their_names() {
        let says = |name: &str| says_who(&name.parse().unwrap());
        for name in &CREDENTIALS {
            assert!(says_who(name), "{name}");
        }
        for name in [
            "X-Api-Key",
            "Api-Key",
            "ApiKey",
            "X-Api-Token",
            "X-Auth-Token",
            "X-Access-Token",
            "X-Goog-Api-Key",
            "X-RapidAPI-Key",
            "X-Shopify-Access-Token",
            "Ocp-Apim-Subscription-Key",
            "Private-Token",
            "X-Amz-Security-Token",
            "X-Vault-Token",
            "DD-API-KEY",
            "DD-APPLICATION-KEY",
            "X-Auth-Email",
            "X-MBX-APIKEY",
            "X-CMC_PRO_API_KEY",
            "CB-ACCESS-KEY",
            "X-Figma-Token",
            "Circle-Token",
            "JOB-TOKEN",
            "X-Session",
            "X-Client-Secret",
            "X-JWT-Assertion",
            "X-Password",
            "X-User-Credentials",
            "X-Forwarded-Authorization",
            "authtoken",
        ] {
            assert!(says(name), "{name}");
        }
        for name in [
            "accept",
            "accept-language",
            "user-agent",
            "host",
            "cache-control",
            "if-none-match",
            "traceparent",
            "x-request-id",
            "idempotency-key",
            "x-idempotency-key",
            "x-keyword",
            "x-author",
            "x-tokens-left",
            "x",
            "-",
        ] {
            assert!(!says(name), "{name}");
        }
        let keys = Keys::new(ResponseSecret::random());
        let of = |fields: &[(&str, &str)]| keys.of(&head("https://a.example/x", fields)).whose;
        let (one, two) = (("x-vault-token", "1"), ("dd-api-key", "2"));
        assert_eq!(of(&[one, two]), of(&[two, one]));
        let all = [
            of(&[]),
            of(&[one]),
            of(&[two]),
            of(&[one, two]),
            of(&[one, one]),
            of(&[("x-vault-token", "2"), ("dd-api-key", "1")]),
            of(&[("x-api-key", "1"), one]),
            of(&[("authorization", "1"), one]),
        ];
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
    }

    #[test]
    fn variants_are_apart_by_what_selects_them() {
        let keys = Keys::new(ResponseSecret::random());
        let vary = [http::header::ACCEPT, http::header::ACCEPT_LANGUAGE];
        let of = |headers: &[(&str, &str)]| keys.variant(&vary, &head("/", headers).headers);
        let all = [
            of(&[]),
            of(&[("accept", "a")]),
            of(&[("accept-language", "a")]),
            of(&[("accept", "a"), ("accept", "b")]),
            of(&[("accept", "a"), ("accept-language", "b")]),
            of(&[("accept", "accept-language")]),
            of(&[("accept-language", "accept-language")]),
        ];
        let found: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(found.len(), all.len());
        assert_eq!(of(&[("accept", "a"), ("x-other", "1")]), all[1]);
        assert_eq!(keys.variant(&[], &head("/", &[("accept", "a")]).headers), 0);
    }

    #[test]
    fn a_host_is_told_without_its_port_and_without_who_asks() {
        for (uri, host) in [
            ("https://u:p@A.example:8443/x", "a.example"),
            ("http://[2001:DB8::1]/", "[2001:db8::1]"),
            ("http://[::1]:80/", "[::1]"),
            ("http://a.example/", "a.example"),
        ] {
            assert_eq!(&*host_of(&uri.parse().unwrap(), &HeaderMap::new()), host);
        }
        let asked = head("/x", &[("host", "B.example:80")]);
        assert_eq!(&*host_of(&asked.uri, &asked.headers), "b.example");
    }
}
