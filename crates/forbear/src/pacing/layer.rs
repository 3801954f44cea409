use http::request::Parts;
use tower_layer::Layer;

use super::service::PacingService;
use crate::Families;
use crate::order::{Below, Mistake};

/// Reads what a request costs.
pub(super) type CostOf = fn(&Parts) -> u32;

/// Spaces the attempts of each family before any signal arrives. See the [module](super).
#[derive(Debug, Clone)]
pub struct PacingLayer {
    families: Families,
    cost_of: Option<CostOf>,
}

static RETRY_INSIDE: Mistake = Mistake::new(
    Below::RETRY_AFTER,
    "put RetryAfterLayer outside PacingLayer, or what it sends again is not paced",
);
static TOWER_RETRY_INSIDE: Mistake = Mistake::new(
    Below::TOWER_RETRY,
    "put tower::retry between RetryAfterLayer and PacingLayer, or what it sends again is not paced",
);
static BUDGET_INSIDE: Mistake = Mistake::new(
    Below::BUDGET,
    "put BudgetLayer outside PacingLayer and RetryAfterLayer, or waits outlast it",
);
static TWO_PACERS: Mistake =
    Mistake::new(Below::PACING, "keep one PacingLayer per stack, or every attempt counts twice");

impl PacingLayer {
    /// Paces by the limits of `families`. Stacks made from clones of one `Families` share them.
    #[must_use]
    pub const fn new(families: Families) -> Self {
        Self { families, cost_of: None }
    }

    /// What each request costs, read from its head, in the unit that its family's [`Pacing`](crate::Pacing) counts, such as
    /// tokens (1 each). A [`Cost`](crate::Cost) extension wins.
    #[must_use]
    pub const fn cost_of(mut self, cost_of: fn(&Parts) -> u32) -> Self {
        self.cost_of = Some(cost_of);
        self
    }
}

impl PacingLayer {
    /// Reports what must not stand below, where it does.
    pub(crate) fn look<S>() {
        Mistake::look::<S>("PacingLayer", &[&RETRY_INSIDE, &TOWER_RETRY_INSIDE, &BUDGET_INSIDE, &TWO_PACERS]);
    }

    /// The layer around what was looked at.
    pub(crate) fn around<S>(&self, inner: S) -> PacingService<S> {
        PacingService::new(inner, self.families.0.snapshot(), self.cost_of)
    }
}

impl<S> Layer<S> for PacingLayer {
    type Service = PacingService<S>;

    fn layer(&self, inner: S) -> PacingService<S> {
        Self::look::<S>();
        self.around(inner)
    }
}
