//! How one vendor phrases its signals.
//!
//! A [`Dialect`] reads a response twice at most: its head, and, where it has rules for that, the first bytes of its
//! body. Readers are total: whatever a vendor sends, there is a [`Reading`], and what cannot be read leaves the
//! rest as it was.
//!
//! The standard dialect:
//!
//! | response | is | delay | reason |
//! |---|---|---|---|
//! | 429 | `Throttled` | if advertised | `retry-after`, `malformed-retry-after`, `status-429` |
//! | 503 with a readable delay | `Overloaded` | as advertised | `service-unavailable` |
//! | 529 | `Overloaded` | if advertised | `status-529` |
//! | other | no signal | information | `poll-interval` on a 202 with a delay |
//!
//! On 429 and 503 a reason code in a JSON body replaces the reason, and one that tells of too much in flight makes
//! the class `Overloaded`.
//!
//! A delay is the first to be above zero of `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after` (all in
//! milliseconds) and `Retry-After` (RFC 9110 section 10.2.3); of several values of one field the longest. An HTTP
//! date counts from the response's `Date`, without one from the caller's clock.

mod body;
mod head;
mod reading;
mod rules;

use std::time::SystemTime;

use http::StatusCode;
use http::header::HeaderMap;

pub use reading::{Reading, Verdict};
use rules::{Rules, STANDARD};

/// How one vendor phrases its signals. Cheap to clone.
#[derive(Clone)]
pub struct Dialect {
    rules: &'static Rules,
}

impl Dialect {
    /// The most bytes of a decoded body that [`Dialect::read_body`] looks at: 16 KiB.
    pub const MAX_BODY: usize = 16 * 1024;

    /// The dialect of RFC 9110, RFC 6585 and what most vendors have in common.
    #[must_use]
    #[inline]
    pub fn standard() -> Self {
        Self { rules: &STANDARD }
    }

    /// Whether a response with `status` may be a signal. Where it may not, the status alone settles that, and the
    /// headers need only be read by who wants the information in them, or whether the response is from a cache.
    #[must_use]
    #[inline]
    pub fn may_limit(&self, status: StatusCode) -> bool {
        self.rules.from() <= status && self.rules.limit(status).is_some()
    }

    /// What the head of a response says. `wall` is the caller's wall clock, the reference of HTTP dates in a
    /// response without a readable `Date`.
    #[must_use]
    pub fn read_head(&self, status: StatusCode, headers: &HeaderMap, wall: SystemTime) -> Reading {
        head::read(self.rules, status, headers, wall)
    }

    /// Whether the body of a response whose head gave `reading` can say more.
    #[must_use]
    pub fn wants_body(&self, reading: &Reading) -> bool {
        reading.signal().and_then(|signal| self.rules.limit(signal.status?)).is_some_and(|limit| limit.body)
    }

    /// Adds to `reading` what the first bytes of the decoded body say, at most [`Dialect::MAX_BODY`] of them. A body
    /// that is cut off, no JSON, or silent about the reason changes nothing.
    pub fn read_body(&self, reading: &mut Reading, body: &[u8]) {
        if self.wants_body(reading)
            && let Verdict::Bad(signal) = &mut reading.verdict
        {
            body::read(self.rules, signal, body.get(..Self::MAX_BODY).unwrap_or(body));
        }
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialect").field("name", &self.rules.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn head(status: u16, retry_after: &'static str) -> Reading {
        let headers =
            HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static(retry_after))]);
        Dialect::standard().read_head(StatusCode::from_u16(status).unwrap(), &headers, SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn only_the_body_of_a_signal_is_wanted() {
        let dialect = Dialect::standard();
        for (status, retry_after, wanted) in [
            (429, "1", true),
            (429, "soon", true),
            (503, "0", true),
            (503, "soon", false),
            (529, "1", false),
            (200, "1", false),
        ] {
            let mut reading = head(status, retry_after);
            assert_eq!(dialect.wants_body(&reading), wanted, "{status} {retry_after}");
            let before = reading.clone();
            dialect.read_body(&mut reading, br#"{"reason":"inflight_limit"}"#);
            assert_eq!(reading != before, wanted, "{status} {retry_after}");
        }
    }

    #[test]
    fn no_more_of_a_body_is_read_than_the_limit() {
        let body = |length: usize| format!("{:<length$}", r#"{"reason":"inflight_limit"}"#);
        let reason = |body: &str| {
            let mut reading = head(429, "1");
            Dialect::standard().read_body(&mut reading, body.as_bytes());
            reading.into_signal().unwrap().reason
        };
        assert_eq!(reason(&body(Dialect::MAX_BODY)).as_str(), "inflight_limit");
        // A document that goes on behind the limit is a truncated one.
        let beyond = format!(r#"{{"reason":"inflight_limit","pad":"{}"}}"#, "x".repeat(Dialect::MAX_BODY));
        assert_eq!(reason(&beyond).as_str(), "retry-after");
    }

    #[test]
    fn a_503_with_a_zero_hint_is_a_signal() {
        let signal = head(503, "0").into_signal().unwrap();
        assert_eq!(signal.delay.map(|delay| delay.duration), Some(std::time::Duration::ZERO));
    }
}
