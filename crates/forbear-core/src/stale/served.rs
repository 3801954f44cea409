use std::fmt;
use std::time::Duration;

/// Response extension: where an answer comes from. Set by `StaleLayer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Served {
    /// The vendor gave it just now, be it a 429 or a fault where there was nothing better, or said just now that what is stored still holds.
    Live,
    /// It was stored, and is as good as new by what the vendor said of it.
    Fresh,
    /// It was stored, and is past that.
    Stale {
        /// Since when it was given, or confirmed.
        age: Duration,
        /// Why it was served all the same.
        because: Because,
    },
    /// Nothing was stored: the [fallback](super::StalePolicy::fallback).
    Fallback {
        /// Why there was no answer.
        because: Because,
    },
}

/// Why no new answer could be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Because {
    /// It can be, but was not waited for: it is fetched in the background (`stale-while-revalidate`).
    Revalidating,
    /// The family cools, or is paused: nothing was sent.
    Cooling,
    /// The vendor answered with a signal.
    Limited,
    /// The vendor answered 500, 502, 503 or 504.
    ServerError,
    /// Pacing has no place for it in time: nothing was sent.
    Paced,
    /// The budget is spent.
    BudgetExhausted,
    /// The vendor takes longer than the caller may be kept waiting for it; its answer is still read in the background.
    Slow,
    /// The client failed, as where no connection was to be had.
    Faulted,
    /// It failed a moment ago.
    FailedLately,
    /// The caller asked for what is stored, and for nothing else (`only-if-cached`).
    OnlyIfCached,
    /// The caller takes it as old as it is (`max-stale`).
    MaxStale,
    /// Nothing is asked of the vendor while somebody waits: it was demanded of a refresh, which fetches it in the background.
    Demanded,
}

impl Because {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Revalidating,
        Self::Cooling,
        Self::Limited,
        Self::ServerError,
        Self::Paced,
        Self::BudgetExhausted,
        Self::Slow,
        Self::Faulted,
        Self::FailedLately,
        Self::OnlyIfCached,
        Self::MaxStale,
        Self::Demanded,
    ];

    /// The word for it in metrics and in `Cache-Status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Revalidating => "revalidating",
            Self::Cooling => "cooling",
            Self::Limited => "limited",
            Self::ServerError => "server-error",
            Self::Paced => "paced",
            Self::BudgetExhausted => "budget-exhausted",
            Self::Slow => "slow",
            Self::Faulted => "faulted",
            Self::FailedLately => "failed-lately",
            Self::OnlyIfCached => "only-if-cached",
            Self::MaxStale => "max-stale",
            Self::Demanded => "demanded",
        }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
