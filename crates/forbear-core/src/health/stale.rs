use std::collections::BTreeMap;

use serde::Serialize;

use crate::families::{Families, Member};
use crate::stale::{Because, StaleTotals};

/// What is stored of a family's answers, and what was served of that.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct StaleHealth {
    /// Answers that are stored. One that was replaced or removed may be counted until others come.
    pub entries: u64,
    /// How many bytes of memory those take, about.
    pub bytes: u64,
    /// Answers of the vendor, or confirmed by it; also those that it limited, and its faults.
    pub live: u64,
    /// Stored answers that were as good as new.
    pub fresh: u64,
    /// Old answers that were served, by the cause, of those that there ever were.
    pub stale: BTreeMap<&'static str, u64>,
    /// Fallbacks.
    pub fallbacks: u64,
    /// Requests that got none of these: an error.
    pub refused: u64,
    /// Requests that waited for an attempt which somebody else had begun.
    pub coalesced: u64,
}

impl StaleHealth {
    /// Of a registered family.
    pub(super) fn of(member: &Member) -> Option<Self> {
        member.gate.stale_totals().filter(|_| !member.automatic).map(|totals| Self::told(&totals))
    }

    pub(super) fn of_others(families: &Families) -> Option<Self> {
        families.listeners().stale_totals_of_others().map(|totals| Self::told(&totals))
    }

    fn told(totals: &StaleTotals) -> Self {
        let stale = Because::ALL.map(|because| (because.as_str(), totals.because(because)));
        Self {
            entries: totals.entries,
            bytes: totals.bytes,
            live: totals.live,
            fresh: totals.fresh,
            stale: stale.into_iter().filter(|(_, count)| *count > 0).collect(),
            fallbacks: totals.fallbacks,
            refused: totals.refused,
            coalesced: totals.coalesced,
        }
    }
}
