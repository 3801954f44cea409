use std::sync::Arc;

use crate::signal::Signal;
use crate::time::Monotonic;

use super::operator::Acted;
use super::ticket::Ticket;

/// What a gate says to a logical request that asks to be admitted.
#[derive(Debug, Clone)]
pub enum Decision {
    /// Send now, and observe the answer with this ticket.
    Go(Ticket),
    /// Do not send.
    Refuse(Refusal),
}

/// Why a gate does not let a caller send, and when it may.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Why.
    pub cause: RefusalCause,
    /// When sending may be possible; `None` where nobody knows.
    pub retry_at: Option<Monotonic>,
    /// Whether a caller with budget may wait for it.
    pub waitable: bool,
    /// When this was decided.
    pub at: Monotonic,
    /// The strike that closed the gate last.
    pub strike: Option<Arc<Struck>>,
    /// The operator who paused it, or closed it for so long, where it was not the vendor.
    pub operator: Option<Arc<Acted>>,
}

/// Why a gate does not let a caller send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalCause {
    /// The cool-down runs.
    Cooling,
    /// The probe is out, or the gap before the next one runs.
    Probing,
    /// The family recovers, and others come first.
    Recovering,
    /// The caller has waited, and what is left of its budget is too short for an answer.
    TooLate,
    /// An operator paused the family.
    Paused,
    /// As many callers as allowed wait already.
    Crowded,
    /// It would have to wait, and the process shuts down.
    ShuttingDown,
}

impl RefusalCause {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Cooling,
        Self::Probing,
        Self::Recovering,
        Self::TooLate,
        Self::Paused,
        Self::Crowded,
        Self::ShuttingDown,
    ];

    /// The word for it in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cooling => "cooling",
            Self::Probing => "probing",
            Self::Recovering => "recovering",
            Self::TooLate => "too_late",
            Self::Paused => "paused",
            Self::Crowded => "crowded",
            Self::ShuttingDown => "shutting_down",
        }
    }
}

/// What closed a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Struck {
    /// The signal.
    pub signal: Signal,
    /// The path of the request that met it, without its query; empty where what was called has no name.
    pub route: Box<str>,
    /// When it was observed.
    pub at: Monotonic,
}
