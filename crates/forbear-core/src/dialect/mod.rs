//! How one vendor phrases its signals.
//!
//! A [`Dialect`] reads a response twice at most: its head, and, where it has rules for that, the first bytes of its
//! body. Readers are total: whatever a vendor sends, there is a [`Reading`], and what cannot be read leaves the
//! rest as it was.
//!
//! It is data: rules over headers and bodies in the [words] of a file, compiled once. [`Dialect::standard`] is what most
//! vendors have in common, [`presets`](crate::presets) are the vendors that are known, and [`Dialect::from_toml`] and
//! [`Dialect::builder`] make one of one's own, which falls back to the standard one.
//!
//! The standard dialect:
//!
//! | response | is | delay | reason |
//! |---|---|---|---|
//! | 429 | `Throttled` | if advertised | `retry-after`, `quota-exhausted`, `malformed-retry-after`, `status-429` |
//! | 503 with a readable delay | `Overloaded` | as advertised | `service-unavailable` |
//! | 529 | `Overloaded` | if advertised | `status-529` |
//! | a problem type of draft-ietf-httpapi-ratelimit-headers on 429 or 503 | by type | if advertised | the type |
//! | other | no signal | information | `poll-interval` on a 202 with a delay, `quota-exhausted` |
//!
//! On 429 and 503 a reason code in a JSON body replaces the reason, and one that tells of too much in flight makes
//! the class `Overloaded`.
//!
//! A delay is the first to be above zero of `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after` (all in
//! milliseconds), `Retry-After` (RFC 9110 section 10.2.3), and the reset of what is exhausted, by `RateLimit`, its older kin
//! and the `x-ratelimit-*` headers; of several values of one field the longest. An absolute time counts from the response's
//! `Date`, without one from the caller's clock.

mod compile;
mod invalid;
mod quota;
mod read;
mod reading;
mod standard;
pub mod words;

use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use http::StatusCode;
use http::header::HeaderMap;

use compile::Rules;
pub use invalid::InvalidDialect;
pub use quota::Quota;
pub use reading::{Reading, Verdict};
use words::Words;

use crate::presets::UnknownVendor;

/// The name of [`Dialect::standard`].
pub(crate) const STANDARD: &str = "generic-http";

/// How one vendor phrases its signals. Cheap to clone.
#[derive(Clone)]
pub struct Dialect {
    rules: Held,
}

/// The dialects that come with the crate are never counted: a count that all threads share is what a call can do without.
#[derive(Clone)]
enum Held {
    Static(&'static Rules),
    Shared(Arc<Rules>),
}

impl Dialect {
    /// The most bytes of a decoded body that are looked at: 16 KiB.
    pub const MAX_BODY: usize = 16 * 1024;

    /// The dialect of RFC 9110, RFC 6585, draft-ietf-httpapi-ratelimit-headers and what most vendors have in common.
    #[must_use]
    #[inline]
    pub fn standard() -> Self {
        static STANDARD: LazyLock<Rules> =
            LazyLock::new(|| compile::compile(&standard::words()).unwrap_or_default());
        Self { rules: Held::Static(&STANDARD) }
    }

    /// The dialect of a known vendor: one of [`presets::NAMES`](crate::presets::NAMES), or `generic-http`.
    ///
    /// # Errors
    ///
    /// [`UnknownVendor`] names the nearest.
    pub fn named(name: &str) -> Result<Self, UnknownVendor> {
        if name == STANDARD {
            return Ok(Self::standard());
        }
        crate::presets::named(name).map(|preset| preset.dialect())
    }

    /// A dialect of one's own, in Rust.
    #[must_use]
    pub fn builder(name: impl Into<String>) -> Words {
        Words::new(name)
    }

    /// A dialect of one's own, in TOML.
    ///
    /// # Errors
    ///
    /// [`InvalidDialect`] names the key that is wrong, or the line that cannot be read, and what is allowed.
    pub fn from_toml(text: &str) -> Result<Self, InvalidDialect> {
        Words::from_toml(text)?.build()
    }

    fn shared(rules: Rules) -> Self {
        Self { rules: Held::Shared(Arc::new(rules)) }
    }

    #[inline]
    fn rules(&self) -> &Rules {
        match &self.rules {
            Held::Static(rules) => rules,
            Held::Shared(rules) => rules,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.rules().name
    }

    /// Whether a response with `status` may be a signal. Where it may not, the status alone settles that, and the
    /// headers need only be read by who wants the information in them, or whether the response is from a cache.
    #[must_use]
    #[inline]
    pub fn may_limit(&self, status: StatusCode) -> bool {
        self.rules().statuses.contains(status.as_u16())
    }

    /// Whether the limits of its vendor are for buckets that it names, or for routes: then it matters which route a request
    /// is on, and what a plain answer's head says.
    #[must_use]
    #[inline]
    pub fn names_buckets(&self) -> bool {
        self.rules().names_buckets
    }

    /// What the head of a response says. `wall` is the caller's wall clock, the reference of absolute times in a
    /// response without a readable `Date`.
    #[must_use]
    pub fn read_head(&self, status: StatusCode, headers: &HeaderMap, wall: SystemTime) -> Reading {
        read::read(self.rules(), status, headers, None, wall)
    }

    /// Whether the body of a response whose head gave `reading` can say more.
    #[must_use]
    pub fn wants_body(&self, reading: &Reading) -> bool {
        reading.look
    }

    /// What a response says whose [body is wanted](Self::wants_body): the first bytes of it, [decoded](crate::coding), of which at most
    /// [`Dialect::MAX_BODY`] are looked at. A body that is cut off, or in no form that the dialect knows, leaves what the head
    /// said.
    #[must_use]
    pub fn read_body(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        wall: SystemTime,
    ) -> Reading {
        let body = body.get(..Self::MAX_BODY).unwrap_or(body);
        read::read(self.rules(), status, headers, Some(body), wall)
    }

    /// When a look at the body of such a response has seen enough: of a stream of events its first. The look's other bounds
    /// hold besides.
    #[must_use]
    pub fn enough(headers: &HeaderMap) -> fn(&[u8]) -> bool {
        if read::is_event_stream(headers) { |seen| read::first_event(seen).is_some() } else { |_| false }
    }

    /// A fingerprint of what names the [bucket](Self::bucket) in the head of an answer, never zero; `None` where nothing does.
    /// Two answers of one fingerprint name the same bucket, so who knows one need not read the other.
    #[must_use]
    #[inline]
    pub fn bucket_told(&self, headers: &HeaderMap) -> Option<u64> {
        let rules = self.rules();
        if rules.bucket.is_empty() { None } else { read::bucket_told(rules, headers) }
    }

    /// The bucket that the vendor counted a request in, where it names one in the head of its answer.
    #[must_use]
    pub fn bucket(&self, headers: &HeaderMap, wall: SystemTime) -> Option<Box<str>> {
        read::bucket(self.rules(), headers, wall)
    }
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialect").field("name", &self.name()).finish()
    }
}

#[cfg(test)]
mod tests;
