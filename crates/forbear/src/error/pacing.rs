use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::Gate;
use forbear_core::health::Short;
use forbear_core::pacing::{PacingCause, PacingRefusal};
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use tokio::time::Instant;

use crate::clock;

/// An attempt that was not sent, because its family's [`Pacing`](crate::Pacing) does not let it go in time. A decision of this
/// program, never the vendor's.
#[derive(Clone)]
pub struct PacingRefused(Box<Inner>);

#[derive(Clone)]
struct Inner {
    family: Arc<str>,
    cause: PacingCause,
    retry_at: Option<Monotonic>,
    queued: usize,
    url: Option<RedactedUrl>,
}

impl PacingRefused {
    /// A pacer's refusal; without a URL where what it refuses is not HTTP.
    pub(crate) fn new(gate: &Gate, refusal: &PacingRefusal, url: Option<RedactedUrl>) -> Self {
        Self(Box::new(Inner {
            family: Arc::clone(gate.name()),
            cause: refusal.cause,
            retry_at: refusal.retry_at,
            queued: refusal.queued,
            url,
        }))
    }

    #[cfg(feature = "sweep")]
    pub(crate) fn known_retry_at(&self) -> Option<Monotonic> {
        self.0.retry_at
    }

    /// The family that is paced.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.0.family
    }

    /// Why the attempt does not go.
    #[must_use]
    pub fn cause(&self) -> PacingCause {
        self.0.cause
    }

    /// The same as a word: `queue-full`, `too-late`, `no-queue`, `cost`, `retry-quota`, `shutting-down`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.0.cause.as_str()
    }

    /// When it could go at the earliest; `None` where nobody knows, or waiting does not help.
    #[must_use]
    pub fn retry_at(&self) -> Option<Instant> {
        self.0.retry_at.map(clock::to_instant)
    }

    /// How long from now until it could go at the earliest, zero where that has passed; `None` where nobody knows, or waiting
    /// does not help.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.0.retry_at.map(|at| at.since(clock::now()))
    }

    /// How many attempts waited for their turn when it was refused.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.0.queued
    }

    /// The URL that was refused, without userinfo, query and fragment; `None` where it is not HTTP.
    #[must_use]
    pub fn url(&self) -> Option<&RedactedUrl> {
        self.0.url.as_ref()
    }
}

impl fmt::Display for PacingRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { family, cause, queued, .. } = &*self.0;
        match cause {
            PacingCause::QueueFull => {
                write!(f, "{queued} attempts wait for their turn at {family}; try later, or send fewer")
            }
            PacingCause::TooLate => {
                let (what, then) =
                    ("comes too late for an answer before the deadline", "give it more time, or send less");
                write!(f, "the turn at {family} {what}; {then}")
            }
            PacingCause::NoQueue => {
                write!(f, "{family} is paced, and this attempt does not wait for its turn")
            }
            PacingCause::Cost => {
                write!(
                    f,
                    "the attempt costs more than a window of {family} ever holds; split the request, or raise the limit"
                )
            }
            PacingCause::RetryQuota => {
                write!(f, "{family} has used up its retry quota; good answers fill it again")
            }
            PacingCause::ShuttingDown => write!(f, "{family} is not waited for: this process shuts down"),
            _ => write!(f, "{family} is paced"),
        }?;
        match self.retry_in().filter(|left| !left.is_zero()) {
            Some(left) => write!(f, "; retry in {}", Short(left)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for PacingRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacingRefused")
            .field("family", &self.0.family)
            .field("cause", &self.0.cause)
            .field("retry_in", &self.retry_in())
            .field("queued", &self.0.queued)
            .field("url", &self.0.url)
            .finish()
    }
}

impl std::error::Error for PacingRefused {}
