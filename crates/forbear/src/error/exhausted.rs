use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::health::Short;
use forbear_core::signal::Signal;

/// A logical request whose budget is spent.
#[derive(Debug, Clone)]
pub struct BudgetExhausted(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    what: Spent,
    spent: Duration,
    attempts: u32,
    last_signal: Option<Arc<Signal>>,
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
    /// The process shuts down, so nobody waits, and the last response was already let go.
    ShuttingDown,
}

impl BudgetExhausted {
    pub(crate) fn new(what: Spent, spent: Duration, attempts: u32, last_signal: Option<Arc<Signal>>) -> Self {
        Self(Box::new(Inner { what, spent, attempts, last_signal }))
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

    /// The last signal with the full hint: that an attempt met, or that closed its family while it waited.
    #[must_use]
    pub fn last_signal(&self) -> Option<&Signal> {
        self.0.last_signal.as_deref()
    }
}

impl fmt::Display for BudgetExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { what, spent, attempts, last_signal } = &*self.0;
        let what = match what {
            Spent::Time => "the deadline passed",
            Spent::Attempts => "no attempt is left",
            Spent::NextWait => "the next wait does not fit",
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
