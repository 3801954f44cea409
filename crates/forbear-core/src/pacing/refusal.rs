use crate::time::Monotonic;

/// Why a pacer does not let an attempt go, and when it might. Ours, never the vendor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacingRefusal {
    /// Why.
    pub cause: PacingCause,
    /// When it could go at the earliest, as far as is known; `None` where waiting does not help, or nobody knows: what is in
    /// flight ends when it ends.
    pub retry_at: Option<Monotonic>,
    /// When this was decided.
    pub at: Monotonic,
    /// How many wait in the queue.
    pub queued: usize,
}

/// Why a pacer does not let an attempt go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PacingCause {
    /// As many attempts as allowed wait already.
    QueueFull,
    /// Its turn comes after its deadline.
    TooLate,
    /// It would have to wait, and does not.
    NoQueue,
    /// It costs more than a window ever holds.
    Cost,
    /// It is a further attempt, and the retry quota has nothing left.
    RetryQuota,
    /// It would have to wait, and the process shuts down.
    ShuttingDown,
}

impl PacingCause {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::QueueFull, Self::TooLate, Self::NoQueue, Self::Cost, Self::RetryQuota, Self::ShuttingDown];

    /// The word for it in errors, health and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::TooLate => "too-late",
            Self::NoQueue => "no-queue",
            Self::Cost => "cost",
            Self::RetryQuota => "retry-quota",
            Self::ShuttingDown => "shutting-down",
        }
    }
}
