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
    pub const BODY: usize = 16 * 1024;

    /// The dialect of RFC 9110, RFC 6585 and what most vendors have in common.
    #[must_use]
    pub fn standard() -> Self {
        Self { rules: &STANDARD }
    }

    /// Whether a response with `status` may be a signal. Where it may not, the status alone settles that, and the
    /// headers need only be read by who wants the information in them, or whether the response is from a cache.
    #[must_use]
    pub fn may_limit(&self, status: StatusCode) -> bool {
        status.as_u16() >= 400 && self.rules.limit(status).is_some()
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
        reading.signal().and_then(|signal| self.rules.limit(signal.status)).is_some_and(|limit| limit.body)
    }

    /// Adds to `reading` what the first bytes of the decoded body say, at most [`Dialect::BODY`] of them. A body
    /// that is cut off, no JSON, or silent about the reason changes nothing.
    pub fn read_body(&self, reading: &mut Reading, body: &[u8]) {
        if self.wants_body(reading)
            && let Verdict::Bad(signal) = &mut reading.verdict
        {
            body::read(self.rules, signal, body.get(..Self::BODY).unwrap_or(body));
        }
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialect").field("name", &self.rules.name).finish()
    }
}
