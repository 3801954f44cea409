//! What came of an item.

use std::fmt;
use std::time::Duration;

use forbear_core::health::Short;
use forbear_core::signal::{Reason, Signal};
use forbear_core::time::Monotonic;
use tokio::time::Instant;

use super::why::Why;
use crate::{Error, clock};

/// What came of one item.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome<T, R> {
    /// It was answered.
    Done(Done<T, R>),
    /// Its vendor, or this program's own gate or pacing, says later; or the budget ended before it was sent.
    Deferred(Deferred<T>),
    /// It could not be sent, or no answer came.
    Failed(Failed<T>),
}

/// An item that was answered, with whatever status: all that is no limit is an answer.
#[derive(Debug)]
pub struct Done<T, R> {
    /// The item.
    pub item: T,
    /// The vendor's response; its body was not read yet.
    pub response: R,
}

/// An item to come back to later. It cost its vendor nothing, or the answer was that it is too much.
#[derive(Debug)]
pub struct Deferred<T> {
    /// The item.
    pub item: T,
    why: Why,
    sent: bool,
    repeats: bool,
}

/// An item that could not be sent, or that no answer came to.
#[derive(Debug)]
pub struct Failed<T> {
    /// The item.
    pub item: T,
    /// What went wrong. [`Error::Client`] where the client failed, where the request could not be made
    /// ([`NoRequest`](super::NoRequest)), or where either panicked ([`Panicked`](super::Panicked)).
    pub error: Error,
}

impl<T, R> Outcome<T, R> {
    /// The item.
    pub const fn item(&self) -> &T {
        match self {
            Self::Done(done) => &done.item,
            Self::Deferred(deferred) => &deferred.item,
            Self::Failed(failed) => &failed.item,
        }
    }

    pub(super) fn failed(item: T, error: Error) -> Self {
        Self::Failed(Failed { item, error })
    }

    pub(super) fn deferred(item: T, why: Why, sent: bool, repeats: bool) -> Self {
        Self::Deferred(Deferred { item, why, sent, repeats })
    }
}

impl<T> Deferred<T> {
    /// When it may be sent; `None` where nobody knows: its family is paused, or the budget ended first.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        self.known().map(clock::to_instant)
    }

    /// How long from now until it may be sent, zero where that has passed; `None` where nobody knows.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.known().map(|at| at.since(clock::now()))
    }

    pub(super) const fn known(&self) -> Option<Monotonic> {
        self.why.until
    }

    /// The vendor's reason code, as of [`Cooling::reason`](crate::Cooling::reason) or
    /// [`PacingRefused::reason`](crate::PacingRefused::reason); `deadline` where the sweep's budget ended before its turn,
    /// `stopped` where the sweep was [stopped](super::Outcomes::stop).
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.why.reason
    }

    /// The family that is not called; `None` where that is not known.
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        self.why.family.as_deref()
    }

    /// The part of the family that is not called, as health names it; `None` where it is the whole.
    #[must_use]
    pub fn partition(&self) -> Option<&str> {
        self.why.partition.as_deref()
    }

    /// What the vendor said last, with its full hint; `None` where it said nothing.
    #[must_use]
    pub fn signal(&self) -> Option<&Signal> {
        self.why.signal.as_deref()
    }

    /// Whether it was sent, and its vendor answered that it is too much.
    #[must_use]
    pub const fn was_sent(&self) -> bool {
        self.sent
    }

    /// Whether nothing is done twice where it is sent again: it was not sent, its vendor says that it was not carried out (as a
    /// 429 does), or its request is idempotent.
    #[must_use]
    pub const fn is_safe_to_repeat(&self) -> bool {
        self.repeats
    }
}

/// What is later, why, and when: `quotes: 429 inflight_limit, retry in 4m00s`.
impl<T> fmt::Display for Deferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Why { family, partition, reason, signal, .. } = &self.why;
        if let Some(family) = family {
            f.write_str(family)?;
            if let Some(partition) = partition {
                write!(f, "/{partition}")?;
            }
            f.write_str(": ")?;
        }
        match signal.as_deref().filter(|signal| signal.reason == *reason) {
            Some(signal) => signal.fmt(f)?,
            None => f.write_str(reason.as_str())?,
        }
        match self.retry_in() {
            Some(left) => write!(f, ", retry in {}", Short(left)),
            None => Ok(()),
        }
    }
}
