//! Why an item is not sent now.

use std::sync::Arc;

use forbear_core::gate::{Gate, Refusal};
use forbear_core::signal::{Reason, Signal};
use forbear_core::time::Monotonic;

use crate::error::{BudgetExhausted, Cooling, PacingRefused};
use crate::retry_after::Limited;

/// Why an item is not sent now, as its outcome tells it.
#[derive(Debug, Clone)]
pub(super) struct Why {
    pub(super) family: Option<Arc<str>>,
    pub(super) partition: Option<Arc<str>>,
    pub(super) until: Option<Monotonic>,
    pub(super) reason: Reason,
    pub(super) signal: Option<Arc<Signal>>,
}

impl Why {
    /// The sweep itself ends.
    pub(super) const fn ended(reason: &'static str) -> Self {
        Self { family: None, partition: None, until: None, reason: Reason::from_static(reason), signal: None }
    }

    /// The same, for another reason.
    pub(super) fn because(self, reason: &'static str) -> Self {
        Self { reason: Reason::from_static(reason), ..self }
    }

    pub(super) fn refused(cooling: &Cooling) -> Self {
        Self {
            family: Some(cooling.shared_family()),
            partition: cooling.partition().map(Into::into),
            until: cooling.known_retry_at(),
            reason: cooling.reason().clone(),
            signal: cooling.signal().cloned().map(Arc::new),
        }
    }

    /// A gate's refusal of who waited there.
    pub(super) fn turned_away(gate: &Arc<Gate>, refusal: &Refusal) -> Self {
        Self::refused(&Cooling::gate(gate, refusal, None))
    }

    pub(super) fn limited(limited: &Limited, until: Option<Monotonic>) -> Self {
        let Limited { said, retry_at, gate } = limited;
        Self {
            family: gate.as_ref().map(|gate| Arc::clone(gate.name())),
            partition: gate.as_ref().and_then(|gate| gate.partition_label()).map(Into::into),
            until: (*retry_at).max(until),
            reason: said.reason.clone(),
            signal: Some(Arc::clone(said)),
        }
    }

    pub(super) fn not_paced(refused: &PacingRefused) -> Self {
        Self {
            family: Some(refused.family().into()),
            partition: None,
            until: refused.known_retry_at(),
            reason: Reason::from_static(refused.reason()),
            signal: None,
        }
    }

    pub(super) fn exhausted(exhausted: &BudgetExhausted) -> Self {
        Self {
            family: exhausted.family().map(Into::into),
            partition: None,
            until: exhausted.known_retry_at(),
            reason: Reason::cleaned(exhausted.reason()).unwrap_or(Reason::from_static("deadline")),
            signal: exhausted.last_signal().cloned().map(Arc::new),
        }
    }
}
