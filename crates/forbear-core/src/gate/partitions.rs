//! The parts of a family that have limits of their own.

use std::sync::Arc;

use crate::bounded::{Bounded, Rests};
use crate::partition::Partition;
use crate::time::Monotonic;

use super::engine::Gate;

/// The label of the part that is shared by those that found no room.
const OVERFLOW: &str = "other";

/// Parts by key. One has a gate only after a signal of its own.
pub(super) type Partitions = Bounded<Partition, Gate>;

impl Rests for Gate {
    fn is_idle(&self, now: Monotonic) -> bool {
        Self::is_idle(self, now)
    }

    fn is_open(&self) -> bool {
        Self::is_open(self)
    }
}

impl Gate {
    /// Whether any part of this family was ever limited by itself: one atomic load.
    #[must_use]
    #[inline]
    pub fn has_partitions(&self) -> bool {
        self.partitions.get().is_some()
    }

    /// The gate of a part of this family, where it has one: only after a signal of its own.
    #[must_use]
    #[inline]
    pub fn partition(&self, partition: Partition) -> Option<Arc<Self>> {
        self.partitions.get().and_then(|partitions| partitions.get(&partition))
    }

    /// The gate of a part of this family, made where it has none. At most 10,000; idle ones make room, and what finds none
    /// shares one.
    #[must_use]
    pub fn partition_for(&self, partition: Partition, now: Monotonic) -> Arc<Self> {
        self.partition_named(partition, &partition.to_string(), now)
    }

    /// The same; `label` is what it is called where it is made.
    pub(crate) fn partition_named(&self, partition: Partition, label: &str, now: Monotonic) -> Arc<Self> {
        self.partition_made(partition, (Some(partition), label), now)
    }

    /// The same; no store knows of it.
    pub(super) fn partition_unkept(&self, partition: Partition, label: &str, now: Monotonic) -> Arc<Self> {
        self.partition_made(partition, (None, label), now)
    }

    fn partition_made(
        &self,
        partition: Partition,
        (kept, label): (Option<Partition>, &str),
        now: Monotonic,
    ) -> Arc<Self> {
        let shared = || Box::new(Bounded::new(Self::part_of(self, None, OVERFLOW)));
        let partitions = self.partitions.get_or_init(shared);
        partitions.make(&partition, now, || Self::part_of(self, kept, label))
    }

    /// The gates of all parts that have one.
    #[must_use]
    pub fn partitions(&self) -> Vec<Arc<Self>> {
        self.partitions.get().map(|partitions| partitions.all()).unwrap_or_default()
    }

    /// The same, with the one that is shared by those that find no room, also while nobody needed it.
    pub(super) fn every_part(&self) -> Vec<Arc<Self>> {
        self.partitions.get().map(|partitions| partitions.every()).unwrap_or_default()
    }

    /// Which part of its family it is the gate of; `None` for the family itself.
    #[must_use]
    pub fn partition_label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bounded::MOST;
    use crate::gate::GateSettings;

    /// The one that those share who find no room was made before, and is needed after.
    #[test]
    fn all_parts_have_the_settings_that_their_family_was_given_last() {
        let family = Gate::new("vendor", Arc::new(GateSettings::registered()));
        let part = |key: usize| family.partition_for(Partition::of(key.to_le_bytes()), Monotonic::ORIGIN);
        let held: Vec<_> = (0..MOST).map(part).collect();
        let longest = Duration::from_secs(60);
        family.configure(&Arc::new(GateSettings::registered().max_advertised(longest)));
        let shared = part(MOST);
        assert_eq!(shared.partition_label(), Some(OVERFLOW));
        assert_eq!((held[0].max_advertised(), shared.max_advertised()), (longest, longest));
    }
}
