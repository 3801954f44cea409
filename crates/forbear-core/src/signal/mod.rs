//! What a response says about a limit.

pub(crate) mod hint;
mod reason;

pub use reason::Reason;
pub(crate) use reason::{clean, is_shown, lossy, trim};

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};

/// What kind of trouble a signal tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Throttled, Self::Overloaded, Self::Exhausted, Self::Blocked];

    /// Whether a request that met this class may ever be sent again.
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self, Self::Throttled | Self::Overloaded)
    }

    /// The word for it in events, health and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::Overloaded => "overloaded",
            Self::Exhausted => "exhausted",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much of a vendor a signal speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scope {
    /// This request alone: such a signal never strikes.
    Request,
    /// One partition of the family: a credential, or a bucket that the vendor names.
    Partition,
    /// The bucket that the vendor names: [`Signal::limit`]. Which requests count in it is learned from answers.
    Bucket,
    /// The method and the path of the request, with every number and identifier in that.
    Route,
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
    /// Where: a header's name in lower case, `status`, a JSON pointer such as `/details/reason`, or `classify` where the
    /// program itself said so.
    pub source: Cow<'static, str>,
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
    /// What of the vendor it speaks for, in the vendor's words or its dialect's: `core`, `tokens`, `org`.
    pub limit: Option<Box<str>>,
    /// A short code that says why.
    pub reason: Reason,
    /// The status of the response; `None` where what answered was not HTTP.
    pub status: Option<StatusCode>,
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
            limit: None,
            reason: Reason::of_status(status),
            status: Some(status),
            retryable: class.retryable(),
            not_executed: status == StatusCode::TOO_MANY_REQUESTS,
            aged: false,
            evidence: Evidence { source: "status".into(), value: "".into() },
        }
    }

    /// A signal of `class` from what has no status: a command, a vendor's SDK, a WebSocket. Its reason is the name of the
    /// class until it is given [another](Self::reason).
    #[must_use]
    pub fn without_status(class: Class) -> Self {
        Self {
            class,
            delay: None,
            scope: Scope::Unstated,
            limit: None,
            reason: Reason::from_static(class.as_str()),
            status: None,
            retryable: class.retryable(),
            not_executed: false,
            aged: false,
            evidence: Evidence { source: "classify".into(), value: "".into() },
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

    /// Whether it says that too much is in flight: `Overloaded`, with a [reason](Reason::is_concurrency) of that kind.
    #[must_use]
    pub fn is_concurrency(&self) -> bool {
        self.class == Class::Overloaded && self.reason.is_concurrency()
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

/// Status and reason, `429 inflight_limit`; the reason alone where there is no status.
impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, "{} ", status.as_u16())?;
        }
        self.reason.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_in_flight_is_told_by_class_and_reason() {
        for (class, reason, expected) in [
            (Class::Overloaded, "inflight_limit", true),
            (Class::Overloaded, "busy", false),
            (Class::Throttled, "inflight_limit", false),
            (Class::Exhausted, "inflight_limit", false),
        ] {
            let signal = Signal::without_status(class).reason(reason);
            assert_eq!(signal.is_concurrency(), expected, "{class} {reason}");
        }
    }

    #[test]
    fn what_has_no_status_shows_none() {
        let told = Signal::without_status(Class::Throttled);
        assert_eq!((told.to_string(), told.retryable), ("throttled".to_owned(), true));
        assert_eq!(told.reason("rate_limit").to_string(), "rate_limit");
        let read = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).reason("inflight_limit");
        assert_eq!(read.to_string(), "429 inflight_limit");
    }
}
