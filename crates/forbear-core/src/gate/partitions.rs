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
    use crate::gate::{Ask, Decision, GateSettings, Outcome};
    use crate::signal::{Class, Signal};
    use http::StatusCode;

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

    fn limit(gate: &Gate, delay: Duration, now: Monotonic) {
        let Decision::Go(ticket) = gate.admit(&Ask::new(now), now).0 else { panic!("it is closed") };
        let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(delay);
        let _ = gate.observe(&ticket, Outcome::Bad(&signal, "/"), now);
    }

    #[test]
    fn idle_parts_make_room_and_cooling_ones_stay() {
        let family = Gate::new("vendor", Arc::new(GateSettings::registered()));
        let key = |key: usize| Partition::of(key.to_le_bytes());
        let now = Monotonic::ORIGIN;
        assert!(!family.has_partitions());
        limit(&family.partition_for(key(0), now), Duration::from_secs(60), now);
        assert!(family.has_partitions());
        for idle in 1..MOST {
            drop(family.partition_for(key(idle), now));
        }
        assert_eq!(family.partitions().len(), MOST);
        assert_ne!(family.partition_for(key(MOST), now).partition_label(), Some(OVERFLOW));
        assert!(!family.partition(key(0)).expect("it cools").is_open());
        assert!(family.partition(key(1)).is_none());
    }

    #[test]
    fn who_finds_no_room_is_refused_by_the_shared_one_while_it_cools() {
        let family = Gate::new("vendor", Arc::new(GateSettings::registered()));
        let part = |key: usize| Partition::of(key.to_le_bytes());
        let now = Monotonic::ORIGIN;
        let _held: Vec<_> = (0..MOST).map(|key| family.partition_for(part(key), now)).collect();
        let shared = family.partition_for(part(MOST), now);
        assert!(family.partition(part(MOST)).is_none());
        limit(&shared, Duration::from_secs(60), now);
        let found = family.partition(part(MOST)).expect("it cools");
        assert_eq!(found.partition_label(), Some(OVERFLOW));
    }
}
