//! Limits that each partition of a family has for itself.

use std::sync::Arc;

use crate::bounded::{Bounded, Rests};
use crate::partition::Partition;
use crate::sync::atomic::Ordering;
use crate::time::Monotonic;

use super::pacer::Pacer;

/// Pacers by partition.
pub(super) type Parts = Box<Bounded<Partition, Pacer>>;

impl Rests for Pacer {
    fn is_idle(&self, now: Monotonic) -> bool {
        self.lock().is_idle(now)
    }

    /// A partition without one of its own is given it where it asks.
    fn is_open(&self) -> bool {
        true
    }
}

impl Pacer {
    /// The pacer of a partition, where each has [limits for itself](super::Pacing::per_partition). An attempt enters it first:
    /// where it must then wait for the family's, its booking is [held](super::Booking::hold) until it goes. At most 10,000;
    /// idle ones make room, and what finds none shares one.
    #[must_use]
    pub fn part(&self, partition: Partition, now: Monotonic) -> Option<Arc<Self>> {
        if !self.by_part.load(Ordering::Acquire) {
            return None;
        }
        if let Some(known) = self.parts.get().and_then(|parts| parts.get(&partition)) {
            return Some(known);
        }
        let state = self.lock();
        let pacing = state.settings.of_each_partition()?;
        let longest = state.longest();
        drop(state);
        let make = || Arc::new(Self::heard(&pacing, longest, self.listeners().cloned()));
        let parts = self.parts.get_or_init(|| Box::new(Bounded::new(make())));
        Some(parts.make(&partition, now, make))
    }

    /// The pacers of all partitions that have one.
    pub(super) fn all_parts(&self) -> Vec<Arc<Self>> {
        self.parts.get().map(|parts| parts.all()).unwrap_or_default()
    }

    /// The same, with the one that is shared by those that find no room, also while nobody needed it.
    pub(super) fn every_part(&self) -> Vec<Arc<Self>> {
        self.parts.get().map(|parts| parts.every()).unwrap_or_default()
    }
}
