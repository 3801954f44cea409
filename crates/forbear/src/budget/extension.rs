use std::time::Duration;

use forbear_core::budget::Budget as Limits;
use http::Extensions;
use tokio::time::Instant;

use super::scope;
use crate::error::{BudgetExhausted, Spent};
use crate::{Error, clock};

/// A deadline for one logical request. As a request extension it nests: the earliest deadline wins. Usually it is
/// ambient instead, see [`Budget::current`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(pub(crate) Limits);

impl Budget {
    /// A budget that ends at `deadline`; a [`std::time::Instant`] or [`tokio::time::Instant`].
    #[must_use]
    pub fn until(deadline: impl Into<Instant>) -> Self {
        Self(Limits::until(clock::from_instant(deadline.into())))
    }

    /// A budget of `total` from now.
    #[must_use]
    pub fn within(total: Duration) -> Self {
        Self(Limits::until(clock::now().after(total)))
    }

    /// The budget of the logical request that is being polled right now; `None` outside of any.
    #[must_use]
    pub fn current() -> Option<Self> {
        let deadline = scope::budget().deadline()?;
        Some(Self(Limits::until(deadline)))
    }

    /// What is left of it; zero where it is over.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining(clock::now()).unwrap_or(Duration::MAX)
    }

    /// When it ends.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline().map(clock::to_instant)
    }
}

/// The budget that a request carries, and the one in scope: the earlier deadline.
pub(crate) fn effective(extensions: &Extensions) -> Limits {
    let carried = extensions.get::<Budget>().map_or(Limits::UNLIMITED, |budget| budget.0);
    scope::budget().and(carried)
}

/// The error of a logical request whose budget allows no further attempt.
pub(crate) fn out_of_attempts() -> Error {
    let now = clock::now();
    let spent = now.since(scope::entered().unwrap_or(now));
    let attempts = scope::attempts().unwrap_or_default();
    Error::BudgetExhausted(BudgetExhausted::new(Spent::Attempts, spent, attempts, scope::last_signal()))
}
