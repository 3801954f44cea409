//! What a response says about a limit.

pub(crate) mod hint;
mod reason;

pub use reason::Reason;
pub(crate) use reason::clean;

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use serde::Serialize;

/// What kind of trouble a signal tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Class {
    /// Slow down.
    Throttled,
    /// The vendor is in trouble, or has too much in flight.
    Overloaded,
    /// A quota that will not come back soon: never retried.
    Exhausted,
    /// A ban: never retried.
    Blocked,
}

impl Class {
    /// Whether a request that met this class may ever be sent again.
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self, Self::Throttled | Self::Overloaded)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Throttled => "throttled",
            Self::Overloaded => "overloaded",
            Self::Exhausted => "exhausted",
            Self::Blocked => "blocked",
        })
    }
}

/// How much of a vendor a signal speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scope {
    /// This request alone: such a signal never strikes.
    Request,
    /// One partition of the family: a credential, or a bucket that the vendor names.
    Partition,
    /// The whole family.
    Family,
    /// The vendor does not say: the whole family, unless its limits are known to be per partition.
    #[default]
    Unstated,
}

/// A delay that a response advertised, rounded up to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delay {
    /// How long to wait, counted from the receipt of the response.
    pub duration: Duration,
    /// Whether it was read from a point in time (an HTTP date, an epoch): such a delay is never stretched.
    pub absolute: bool,
}

/// Where the words of a signal were read: the name of a field or of a place in the body, and the raw value, cleaned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Evidence {
    /// Where: a header's name in lower case, `status`, or a JSON pointer such as `/details/reason`.
    pub source: &'static str,
    /// What stood there, without control characters, at most 64 bytes. Empty where the status alone spoke.
    pub value: Box<str>,
}

/// What a response says about a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signal {
    /// The kind of trouble.
    pub class: Class,
    /// The advertised delay; `None` where the vendor gave none that can be read.
    pub delay: Option<Delay>,
    /// How much of the vendor it speaks for.
    pub scope: Scope,
    /// A short code that says why.
    pub reason: Reason,
    /// The status of the response.
    pub status: StatusCode,
    /// Whether the vendor allows that the request be sent again.
    pub retryable: bool,
    /// Whether the vendor says that the request was not carried out, so that any method may be sent again.
    pub not_executed: bool,
    /// Whether the response came out of a cache (`Age` above zero): it is waited for, but is no news of the vendor.
    pub aged: bool,
    /// What it was read from.
    pub evidence: Evidence,
}

impl Signal {
    /// A signal of `class` with `status` and nothing else known of it.
    #[must_use]
    pub fn new(class: Class, status: StatusCode) -> Self {
        Self {
            class,
            delay: None,
            scope: Scope::Unstated,
            reason: Reason::of_status(status),
            status,
            retryable: class.retryable(),
            not_executed: status == StatusCode::TOO_MANY_REQUESTS,
            aged: false,
            evidence: Evidence { source: "status", value: "".into() },
        }
    }

    /// The same signal with an advertised delay counted from the receipt of the response.
    #[must_use]
    pub fn delay(mut self, duration: Duration) -> Self {
        self.delay = Some(Delay { duration, absolute: false });
        self
    }

    /// The same signal with a delay read from a point in time.
    #[must_use]
    pub fn absolute_delay(mut self, duration: Duration) -> Self {
        self.delay = Some(Delay { duration, absolute: true });
        self
    }

    /// The same signal with another scope.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// The same signal with another reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Reason>) -> Self {
        self.reason = reason.into();
        self
    }
}
