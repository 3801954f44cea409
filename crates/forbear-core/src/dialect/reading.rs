use http::StatusCode;

use super::Quota;
use crate::signal::{Delay, Evidence, Reason, Signal};

/// What a response, or the output of what is not HTTP, means for its family.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The vendor serves: an unclassified 2xx, 3xx, 404, 409 or 422.
    Good,
    /// The vendor limits. Where the signal is [`aged`](Signal::aged) it is waited for, but neutral for the family.
    Bad(Signal),
    /// It says nothing of the vendor: another 4xx, an unclassified 5xx, whatever came out of a cache, a local fault.
    Neutral,
}

impl From<Signal> for Verdict {
    fn from(signal: Signal) -> Self {
        Self::Bad(signal)
    }
}

impl Verdict {
    /// The verdict on an unclassified response that comes from the vendor itself.
    #[must_use]
    #[inline]
    pub fn unclassified(status: StatusCode) -> Self {
        match status.as_u16() {
            200..400 | 404 | 409 | 422 => Self::Good,
            _ => Self::Neutral,
        }
    }
}

/// What a dialect read in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// What the response means for its family.
    pub verdict: Verdict,
    /// A delay on a response that is no signal: it may steer pacing, and never strikes.
    pub information: Option<Delay>,
    /// Why that delay is advised, or why a response that looks like a limit is none: `poll-interval`, `quota-exhausted`. A
    /// signal carries its own reason.
    pub reason: Option<Reason>,
    /// What of the vendor the quotas are for, where the response is no signal. A signal carries its own.
    pub limit: Option<Box<str>>,
    /// What the response tells of what is left, signal or not.
    pub quotas: Vec<Quota>,
    /// All that was read in it, in the order of its weight: what decided first. A signal carries the first.
    pub evidence: Vec<Evidence>,
    /// Whether its body can say more.
    pub(super) look: bool,
}

impl Reading {
    /// The signal, where the response is one.
    #[must_use]
    pub fn signal(&self) -> Option<&Signal> {
        match &self.verdict {
            Verdict::Bad(signal) => Some(signal),
            _ => None,
        }
    }

    /// The signal, taken out, where the response is one.
    #[must_use]
    pub fn into_signal(self) -> Option<Signal> {
        match self.verdict {
            Verdict::Bad(signal) => Some(signal),
            _ => None,
        }
    }
}
