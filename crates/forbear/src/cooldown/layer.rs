use tower_layer::Layer;

use super::service::FamilyCooldownService;
use crate::Families;
use crate::order::{Below, Mistake};

/// Asks the gate of a request's family before every attempt. See the [module](super).
#[derive(Debug, Clone)]
pub struct FamilyCooldownLayer {
    families: Families,
}

static RETRY_INSIDE: Mistake = Mistake::new(
    Below::RETRY_AFTER,
    "put RetryAfterLayer outside FamilyCooldownLayer, or its retries bypass the gate",
);
static TOWER_RETRY_INSIDE: Mistake = Mistake::new(
    Below::TOWER_RETRY,
    "put tower::retry between RetryAfterLayer and FamilyCooldownLayer, or its retries bypass the gate",
);
static BUDGET_INSIDE: Mistake = Mistake::new(
    Below::BUDGET,
    "put BudgetLayer outside FamilyCooldownLayer and RetryAfterLayer, or waits outlast it",
);
static PACING_INSIDE: Mistake = Mistake::new(
    Below::PACING,
    "put PacingLayer outside FamilyCooldownLayer, or what queued is sent to a family that cools by now",
);
static TWO_GATES: Mistake =
    Mistake::new(Below::GATE, "keep one FamilyCooldownLayer per stack: the innermost");

impl FamilyCooldownLayer {
    /// Keeps to the cool-downs of `families`. Stacks made from clones of one `Families` share them.
    #[must_use]
    pub const fn new(families: Families) -> Self {
        Self { families }
    }
}

impl FamilyCooldownLayer {
    /// Reports what must not stand below, where it does.
    pub(crate) fn look<S>() {
        Mistake::look::<S>(
            "FamilyCooldownLayer",
            &[&RETRY_INSIDE, &TOWER_RETRY_INSIDE, &BUDGET_INSIDE, &PACING_INSIDE, &TWO_GATES],
        );
    }

    /// The layer around what was looked at.
    pub(crate) fn around<S>(&self, inner: S) -> FamilyCooldownService<S> {
        FamilyCooldownService::new(inner, self.families.0.snapshot())
    }
}

impl<S> Layer<S> for FamilyCooldownLayer {
    type Service = FamilyCooldownService<S>;

    fn layer(&self, inner: S) -> FamilyCooldownService<S> {
        Self::look::<S>();
        self.around(inner)
    }
}
