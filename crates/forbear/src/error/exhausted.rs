use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::health::Short;
use forbear_core::signal::{Reason, Signal};
use forbear_core::time::Monotonic;
use tokio::time::Instant;

use super::Cooling;
use crate::clock;

/// A logical request whose budget is spent.
#[derive(Debug, Clone)]
pub struct BudgetExhausted(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    what: Spent,
    spent: Duration,
    attempts: u32,
    last_signal: Option<Arc<Signal>>,
    refused: Option<Refused>,
}

/// The refusal that was not waited out.
#[derive(Debug, Clone)]
struct Refused {
    family: Arc<str>,
    retry_at: Option<Monotonic>,
    reason: Reason,
}

/// Which part of a budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spent {
    /// The deadline passed.
    Time,
    /// As many attempts as allowed were sent.
    Attempts,
    /// The next wait does not fit, and the last response was already let go.
    NextWait,
    /// The retry quota of the family has nothing left, and the last response was already let go.
    RetryQuota,
    /// The process shuts down, so nobody waits, and the last response was already let go.
    ShuttingDown,
}

impl BudgetExhausted {
    pub(crate) fn new(what: Spent, spent: Duration, attempts: u32, last_signal: Option<Arc<Signal>>) -> Self {
        Self(Box::new(Inner { what, spent, attempts, last_signal, refused: None }))
    }

    /// The same, with the refusal that did not fit what was left.
    pub(crate) fn refused_by(mut self, refusal: &Cooling) -> Self {
        self.0.refused = Some(Refused {
            family: refusal.shared_family(),
            retry_at: refusal.known_retry_at(),
            reason: refusal.reason().clone(),
        });
        self
    }

    /// Whether somebody said when the vendor is called again, or will be by another process.
    pub(super) fn comes_back(&self) -> bool {
        self.0.what == Spent::ShuttingDown || self.retry_at().is_some()
    }

    /// Which part of it is spent.
    #[must_use]
    pub fn what(&self) -> Spent {
        self.0.what
    }

    /// The time the logical request took.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.0.spent
    }

    /// How many attempts were sent.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// The family whose refusal did not fit what was left; `None` where no refusal ended it.
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        self.0.refused.as_ref().map(|refused| &*refused.family)
    }

    /// When that family may be called again; `None` where nobody knows, or no refusal ended it.
    #[must_use]
    pub fn retry_at(&self) -> Option<Instant> {
        self.known_retry_at().map(clock::to_instant)
    }

    /// How long from now until that family may be called again, zero where that has passed.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.known_retry_at().map(|at| at.since(clock::now()))
    }

    pub(crate) fn known_retry_at(&self) -> Option<Monotonic> {
        self.0.refused.as_ref().and_then(|refused| refused.retry_at)
    }

    /// The reason of the refusal, else of the last signal, else which part is spent: `deadline`, `attempts`,
    /// `next-wait`, `shutting-down`.
    #[must_use]
    pub fn reason(&self) -> &str {
        let refused = self.0.refused.as_ref().map(|refused| &refused.reason);
        let last = || self.0.last_signal.as_ref().map(|signal| &signal.reason);
        refused.or_else(last).map_or(
            match self.0.what {
                Spent::Time => "deadline",
                Spent::Attempts => "attempts",
                Spent::NextWait => "next-wait",
                Spent::RetryQuota => "retry-quota",
                Spent::ShuttingDown => "shutting-down",
            },
            Reason::as_str,
        )
    }

    /// The last signal with the full hint: that an attempt met, or that closed its family while it waited.
    #[must_use]
    pub fn last_signal(&self) -> Option<&Signal> {
        self.0.last_signal.as_deref()
    }
}

impl fmt::Display for BudgetExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { what, spent, attempts, last_signal, .. } = &*self.0;
        let what = match what {
            Spent::Time => "the deadline passed",
            Spent::Attempts => "no attempt is left",
            Spent::NextWait => "the next wait does not fit",
            Spent::RetryQuota => "the retry quota is used up",
            Spent::ShuttingDown => "the process shuts down",
        };
        let plural = if *attempts == 1 { "" } else { "s" };
        write!(f, "budget exhausted after {} and {attempts} attempt{plural}: {what}", Short(*spent))?;
        if let Some(signal) = last_signal {
            write!(f, "; last signal {signal}")?;
            if let Some(delay) = signal.delay {
                write!(f, ", retry after {}", Short(delay.duration))?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for BudgetExhausted {}
