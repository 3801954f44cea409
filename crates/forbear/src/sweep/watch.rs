//! What an operator sees of a sweep: a span, and a metric.

use std::sync::Arc;
use std::time::Duration;

use tracing::field::Empty;
use tracing::{Span, debug_span};

use super::outcome::Outcome;
use super::progress::Progress;

/// Whose an item is, for who counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Of {
    /// Nobody's who is known: it has no request, or there is no gate below.
    #[default]
    Unknown,
    /// A host's that is in no registered family.
    Automatic,
    /// A registered family's.
    Family(Arc<str>),
}

/// The span of a sweep, and its counts.
pub(super) struct Watch {
    pub(super) progress: Progress,
    span: Span,
}

impl Watch {
    pub(super) fn new(concurrency: usize, budget: Option<Duration>) -> Self {
        #[cfg(feature = "metrics")]
        ::metrics::describe_counter!(
            "forbear_sweep_items_total",
            "Items of sweeps whose outcome was handed over, by what came of them."
        );
        let budget_ms = budget.map(|budget| u64::try_from(budget.as_millis()).unwrap_or(u64::MAX));
        let span =
            debug_span!("sweep", concurrency, budget_ms, done = Empty, deferred = Empty, failed = Empty);
        Self { progress: Progress::default(), span }
    }

    /// While the sweep is polled, what happens happens in its span.
    pub(super) fn span(&self) -> Span {
        self.span.clone()
    }

    /// An outcome is handed over.
    pub(super) fn counts<T, R>(&mut self, outcome: &Outcome<T, R>, of: Of) {
        let Progress { done, deferred, failed, .. } = &mut self.progress;
        let (count, outcome) = match outcome {
            Outcome::Done(_) => (done, "done"),
            Outcome::Deferred(_) => (deferred, "deferred"),
            Outcome::Failed(_) => (failed, "failed"),
        };
        *count = count.saturating_add(1);
        publish(outcome, of);
    }
}

/// Also where it is dropped on its way.
impl Drop for Watch {
    fn drop(&mut self) {
        let Progress { done, deferred, failed, .. } = self.progress;
        let _ = self.span.record("done", done).record("deferred", deferred).record("failed", failed);
    }
}

#[cfg(feature = "metrics")]
fn publish(outcome: &'static str, of: Of) {
    let family: ::metrics::SharedString = match of {
        Of::Unknown => "unknown".into(),
        Of::Automatic => "automatic".into(),
        Of::Family(name) => name.into(),
    };
    ::metrics::counter!("forbear_sweep_items_total", "family" => family, "outcome" => outcome).increment(1);
}

#[cfg(not(feature = "metrics"))]
fn publish(_: &'static str, _: Of) {}
