use std::sync::Arc;

use forbear_core::deadlines::Deadlines;
use tower_layer::Layer;

use super::service::RetryAfterService;
use crate::order::{Below, Mistake};

/// Waits as vendors ask, within the budget, and sends again. See the [module](super).
#[derive(Debug, Clone)]
pub struct RetryAfterLayer {
    pub(super) deadlines: Arc<Deadlines>,
    pub(super) replay_limit: Option<usize>,
}

static BUDGET_INSIDE: Mistake = Mistake::new(
    Below::BUDGET,
    "put BudgetLayer outside RetryAfterLayer, or every wait gets a budget of its own",
);
static TWO_RETRIES: Mistake =
    Mistake::new(Below::RETRY_AFTER, "keep one RetryAfterLayer per stack, or waits multiply");

impl RetryAfterLayer {
    /// Bodies up to 64 KiB are kept for sending again, and a million URLs remembered. Clones of the layer, and the
    /// services they make, share what is remembered.
    #[must_use]
    pub fn new() -> Self {
        Self { deadlines: Deadlines::new(1_000_000), replay_limit: Some(64 * 1024) }
    }

    /// Keeps request bodies of up to `bytes` for sending again. A larger one is sent once, untouched.
    #[must_use]
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        self.replay_limit = Some(bytes);
        self
    }

    /// Keeps nothing of a request: limited answers and refusals are returned at once, as with
    /// [`NoWait`](crate::NoWait), at the cost of no allocation per call.
    #[must_use]
    pub fn without_replay(mut self) -> Self {
        self.replay_limit = None;
        self
    }

    /// Remembers the deadlines of at most `urls` URLs; more are remembered by authority. Begins a new map.
    #[must_use]
    pub fn max_recorded(mut self, urls: usize) -> Self {
        self.deadlines = Deadlines::new(urls);
        self
    }

    /// How many deadlines were recorded by authority because the map was full.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.deadlines.overflows()
    }

    /// Forgets all recorded deadlines.
    pub fn clear(&self) {
        self.deadlines.clear();
    }
}

impl Default for RetryAfterLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl RetryAfterLayer {
    /// Reports what must not stand below, where it does.
    pub(crate) fn look<S>() {
        Mistake::look::<S>("RetryAfterLayer", &[&BUDGET_INSIDE, &TWO_RETRIES]);
    }

    /// The layer around what was looked at.
    pub(crate) fn around<S>(&self, inner: S) -> RetryAfterService<S> {
        RetryAfterService::new(inner, self.clone())
    }
}

impl<S> Layer<S> for RetryAfterLayer {
    type Service = RetryAfterService<S>;

    fn layer(&self, inner: S) -> RetryAfterService<S> {
        Self::look::<S>();
        self.around(inner)
    }
}
