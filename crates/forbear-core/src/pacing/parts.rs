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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bounded::MOST;
    use crate::pacing::{Booking, Entered, Entry, Left, Pacing, Spot, Unit};

    const SECOND: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> Monotonic {
        Monotonic::ORIGIN.after(Duration::from_millis(millis))
    }

    fn pacer(pacing: &Pacing) -> Arc<Pacer> {
        let pacer = Pacer::new(pacing, Duration::from_secs(60));
        assert!(pacer.is_idle(at(0)));
        pacer
    }

    fn goes(pacer: &Arc<Pacer>, millis: u64) -> Booking {
        match pacer.enter(&Entry::new(), at(millis)) {
            Entered::Go(booking) => booking,
            other => panic!("{other:?}"),
        }
    }

    fn waits(pacer: &Arc<Pacer>, millis: u64) -> Spot {
        match pacer.enter(&Entry::new(), at(millis)) {
            Entered::Queued(spot) => spot,
            other => panic!("{other:?}"),
        }
    }

    /// Whatever would be lost with it keeps a pacer, and nothing else.
    #[test]
    fn a_pacer_rests_once_nothing_would_be_lost() {
        let idle = |pacer: &Pacer, times: [u64; 2]| times.map(|millis| pacer.is_idle(at(millis)));

        let gap = pacer(&Pacing::new().gap(SECOND).margin(Duration::ZERO));
        drop(goes(&gap, 0));
        assert_eq!(idle(&gap, [999, 1000]), [false, true], "a gap");

        let window = pacer(&Pacing::new().at_most(2, SECOND).margin(Duration::ZERO));
        drop(goes(&window, 0));
        // Both ends belong to a span.
        assert_eq!(idle(&window, [1000, 1001]), [false, true], "a window");

        let in_flight = pacer(&Pacing::new().in_flight(1));
        let flies = goes(&in_flight, 0);
        assert!(!in_flight.is_idle(at(9000)), "what is in flight");
        let spot = waits(&in_flight, 0);
        drop(flies);
        assert!(!in_flight.is_idle(at(9000)), "one that waits");
        drop(spot);
        assert!(in_flight.is_idle(at(9000)));

        let held = pacer(&Pacing::new().at_most(2, SECOND).margin(Duration::ZERO));
        for queued in [false, true] {
            let mut booking = goes(&held, 0);
            if queued {
                booking.hold_queued(at(0));
            } else {
                booking.hold(at(0));
            }
            assert!(!held.is_idle(at(9000)), "what is held back, queued: {queued}");
            booking.give_back(at(9000));
            assert!(held.is_idle(at(9000)));
        }

        let spread = pacer(&Pacing::new().steered(true));
        spread.steer(&[Left { remaining: 5, reset: 2 * SECOND, unit: Unit::Attempts }], at(0), at(0));
        assert_eq!(idle(&spread, [1999, 2000]), [false, true], "the vendor's word");

        let lowered = pacer(&Pacing::new().steered(true));
        let flying = [0, 0, 0, 0].map(|now| goes(&lowered, now));
        assert!(lowered.lower(at(0), at(1)));
        drop(flying);
        assert!(!lowered.is_idle(at(9000)), "what the vendor lowered");
        (0..30).for_each(|_| lowered.good());
        assert!(lowered.is_idle(at(9000)));
    }

    /// As many partitions as may be are busy: the next share one, until there is room.
    #[test]
    fn who_found_no_room_is_given_a_pacer_of_its_own_once_there_is() {
        let each = Pacing::new().at_most(1, SECOND);
        let family = Pacer::new(&Pacing::new().per_partition(each), Duration::from_secs(60));
        let part = |n: usize, millis| family.part(Partition::of(n.to_string()), at(millis)).unwrap();
        let shares = |millis| Arc::ptr_eq(&part(MOST, millis), &part(MOST + 1, millis));
        (0..MOST).for_each(|n| drop(goes(&part(n, 0), 0)));
        assert!(shares(1), "all others are busy");
        assert!(!shares(60_000), "they rest by now");
    }
}
