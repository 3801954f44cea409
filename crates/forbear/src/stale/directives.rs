//! What a response says of its use beyond its freshness: RFC 5861, and RFC 9111 section 5.2.2.

use std::time::Duration;

use http::header::{CACHE_CONTROL, IF_MODIFIED_SINCE, IF_NONE_MATCH, PRAGMA};
use http::{HeaderMap, HeaderName};

/// The most that a number of seconds says, RFC 9111 section 1.2.2.
const MOST: u64 = 1 << 31;

/// The directives that bound how long a stored response is of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Directives {
    /// `stale-while-revalidate`.
    pub(super) while_revalidate: Option<Duration>,
    /// `stale-if-error`.
    pub(super) if_error: Option<Duration>,
    /// It must not be served past its freshness, or never without asking: `must-revalidate`, `no-cache`, and in a shared cache
    /// `proxy-revalidate` and `s-maxage`.
    pub(super) must_revalidate: bool,
    /// `no-store`.
    pub(super) no_store: bool,
    /// `public`.
    pub(super) public: bool,
}

impl Directives {
    pub(super) fn of(headers: &HeaderMap, shared: bool) -> Self {
        let mut all = Self::default();
        each(headers, |name, value| {
            let is = |word: &str| name.eq_ignore_ascii_case(word);
            if is("stale-while-revalidate") {
                all.while_revalidate = seconds(value);
            } else if is("stale-if-error") {
                all.if_error = seconds(value);
            } else if is("must-revalidate")
                || is("no-cache")
                || (shared && (is("proxy-revalidate") || is("s-maxage")))
            {
                all.must_revalidate = true;
            } else if is("no-store") {
                all.no_store = true;
            } else if is("public") {
                all.public = true;
            }
        });
        all
    }
}

/// Whether a request or a response has this directive.
pub(super) fn has(headers: &HeaderMap, word: &str) -> bool {
    let mut found = false;
    each(headers, |name, _| found |= name.eq_ignore_ascii_case(word));
    found
}

/// Whether a request asks for an answer only where it has another.
pub(super) fn is_conditional(headers: &HeaderMap) -> bool {
    headers.contains_key(IF_NONE_MATCH) || headers.contains_key(IF_MODIFIED_SINCE)
}

/// Whether a request wants an answer that its vendor confirms: `no-cache`, or the same as caches of old had it (RFC 9111 section 5.4).
pub(super) fn insists(headers: &HeaderMap) -> bool {
    has(headers, "no-cache") || (!headers.contains_key(CACHE_CONTROL) && list(headers, PRAGMA, "no-cache"))
}

/// Whether a field holds this word.
fn list(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(members).any(|member| member.trim().eq_ignore_ascii_case(word))
}

/// Calls `with` for every directive and its value, without quotes.
fn each(headers: &HeaderMap, mut with: impl FnMut(&str, Option<&str>)) {
    for value in headers.get_all(CACHE_CONTROL) {
        // One byte that is no text hides no other directive.
        for part in members(&String::from_utf8_lossy(value.as_bytes())) {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name, Some(value.trim().trim_matches('"'))),
                None => (part, None),
            };
            with(name.trim(), value);
        }
    }
}

/// The members of a list, in which a comma in quotes is no end.
pub(super) fn members(list: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    list.split(move |letter| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    })
}

/// Digits alone; more than fit are the most there is.
fn seconds(value: Option<&str>) -> Option<Duration> {
    let digits = value?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(digits.parse().unwrap_or(MOST).min(MOST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str], shared: bool) -> Directives {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CACHE_CONTROL, value.parse().unwrap());
        }
        Directives::of(&headers, shared)
    }

    #[test]
    fn seconds_are_digits_and_saturate() {
        let found = of(
            &["max-age=1, Stale-While-Revalidate=60", "stale-if-error=\"99999999999999999999999\""],
            false,
        );
        assert_eq!(found.while_revalidate, Some(Duration::from_secs(60)));
        assert_eq!(found.if_error, Some(Duration::from_secs(MOST)));
        for wrong in ["stale-if-error", "stale-if-error=", "stale-if-error=-1", "stale-if-error=1.5"] {
            assert_eq!(of(&[wrong], false).if_error, None, "{wrong}");
        }
    }

    #[test]
    fn a_comma_in_quotes_is_no_end() {
        let found = of(&["private=\"a, no-store\", must-revalidate"], false);
        assert!(found.must_revalidate && !found.no_store);
    }

    #[test]
    fn a_byte_that_is_no_text_hides_no_directive() {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, http::HeaderValue::from_bytes(b"x=\"\xe9\", no-store").unwrap());
        assert!(Directives::of(&headers, false).no_store && has(&headers, "no-store"));
    }

    #[test]
    fn pragma_holds_where_there_is_no_cache_control() {
        let of = |fields: &[(HeaderName, &str)]| {
            let fields = fields.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
            insists(&fields.collect())
        };
        assert!(of(&[(PRAGMA, "x, No-Cache")]) && of(&[(CACHE_CONTROL, "no-cache")]));
        assert!(!of(&[(PRAGMA, "no-cache"), (CACHE_CONTROL, "max-age=5")]) && !of(&[(PRAGMA, "x")]));
    }

    #[test]
    fn what_holds_for_shared_caches_holds_there_alone() {
        for value in ["proxy-revalidate", "s-maxage=5"] {
            assert_eq!(
                [true, false].map(|shared| of(&[value], shared).must_revalidate),
                [true, false],
                "{value}"
            );
        }
    }
}
