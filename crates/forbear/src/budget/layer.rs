use std::num::NonZeroU32;
use std::time::Duration;

use tower_layer::Layer;

use super::service::BudgetService;
use crate::order::{Below, Mistake};

/// Gives every logical request one budget. See the [module](super).
#[derive(Debug, Clone, Copy)]
pub struct BudgetLayer {
    pub(super) total: Option<Duration>,
    pub(super) attempts: Option<NonZeroU32>,
    pub(super) grace: Duration,
    pub(super) across_tasks: bool,
}

static TWO_BUDGETS: Mistake = Mistake::new(
    Below::BUDGET,
    "keep one BudgetLayer per stack: the outermost; the inner one only shortens it",
);

impl BudgetLayer {
    /// A budget of `total` for each logical request, counted from its call.
    #[must_use]
    pub const fn new(total: Duration) -> Self {
        Self { total: Some(total), attempts: None, grace: Duration::ZERO, across_tasks: false }
    }

    /// No deadline of its own: budgets around it and request extensions still hold.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self { total: None, attempts: None, grace: Duration::ZERO, across_tasks: false }
    }

    /// Another total than it was made with.
    #[must_use]
    pub const fn total(mut self, total: Duration) -> Self {
        self.total = Some(total);
        self
    }

    /// At most `most` attempts for each logical request, redirects included (no limit). They are counted by
    /// [`RetryAfterLayer`](crate::RetryAfterLayer) and [`FamilyCooldownLayer`](crate::FamilyCooldownLayer), each attempt
    /// once; without both nothing is.
    #[must_use]
    pub const fn attempts(mut self, most: NonZeroU32) -> Self {
        self.attempts = Some(most);
        self
    }

    /// How much longer the attempt that is in flight at the deadline may take (0 s). Nothing new begins in that time.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The longest that a logical request takes.
    #[cfg(feature = "stale")]
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.total.map(|total| total.saturating_add(self.grace))
    }

    /// Also puts the budget into the request's extensions, for services below that spawn tasks. Costs three
    /// allocations.
    #[must_use]
    pub const fn across_tasks(mut self) -> Self {
        self.across_tasks = true;
        self
    }
}

impl BudgetLayer {
    /// Reports what must not stand below, where it does.
    pub(crate) fn look<S>() {
        Mistake::look::<S>("BudgetLayer", &[&TWO_BUDGETS]);
    }

    /// The layer around what was looked at.
    pub(crate) fn around<S>(&self, inner: S) -> BudgetService<S> {
        BudgetService::new(inner, *self)
    }
}

impl<S> Layer<S> for BudgetLayer {
    type Service = BudgetService<S>;

    fn layer(&self, inner: S) -> BudgetService<S> {
        Self::look::<S>();
        self.around(inner)
    }
}
