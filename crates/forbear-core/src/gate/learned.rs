//! A bounded map of routes to their buckets, read without a lock.

use std::sync::OnceLock;

use crate::partition::Partition;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::fewer;

/// A route may stand in one of so many places.
const WAYS: usize = fewer(8, 1);
/// How many sets of places there are: few at first, more where routes find no place in those. Ten thousand places in all.
const SETS: [usize; 3] = [fewer(8, 1), fewer(96, 1), fewer(1_146, 1)];
/// So many routes are known at most.
#[cfg(test)]
pub(super) const MOST: usize = (SETS[0] + SETS[1] + SETS[2]) * WAYS;

/// What is known of one route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its bucket, of whatever credential.
    pub(super) bucket: Partition,
    /// The fingerprint of what named it, as [`Dialect::bucket_told`](crate::dialect::Dialect::bucket_told) has it.
    pub told: u64,
}

/// Written under a lock that its owner holds, read without one.
#[derive(Debug, Default)]
pub(super) struct Learned {
    levels: [OnceLock<Box<[[Place; WAYS]]>>; 3],
}

/// One route; zero where it is empty.
#[derive(Debug)]
struct Place {
    /// Odd while it is written.
    version: AtomicU64,
    route: AtomicU64,
    bucket: AtomicU64,
    told: AtomicU64,
}

impl Place {
    fn empty() -> Self {
        let [version, route, bucket, told] = std::array::from_fn(|_| AtomicU64::new(0));
        Self { version, route, bucket, told }
    }

    /// What is known of `route`, where it stands here. Nothing where another takes the place meanwhile.
    #[inline]
    fn read(&self, route: u64) -> Option<Known> {
        if self.route.load(Ordering::Relaxed) != route {
            return None;
        }
        let version = self.version.load(Ordering::Acquire);
        let [found, bucket, told] =
            [&self.route, &self.bucket, &self.told].map(|word| word.load(Ordering::Acquire));
        let whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        (whole && found == route).then(|| Known { bucket: Partition::from_hash(bucket), told })
    }

    /// Who reads one of the words acquires that the version was odd before.
    fn write(&self, route: u64, known: Known) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        self.route.store(route, Ordering::Release);
        self.bucket.store(known.bucket.hashed(), Ordering::Release);
        self.told.store(known.told, Ordering::Release);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }
}

impl Learned {
    /// What is known of `route`.
    #[inline]
    pub(super) fn get(&self, route: Partition) -> Option<Known> {
        let route = route.hashed();
        self.levels
            .iter()
            .map_while(OnceLock::get)
            .flat_map(|sets| set(sets, route))
            .find_map(|place| place.read(route))
    }

    /// Only under the lock of all writers. Where there is no place left for it, that of a route whose bucket `rests` is taken;
    /// where none rests, it is not learned.
    pub(super) fn learn(&self, route: Partition, known: Known, rests: impl Fn(Partition) -> bool) {
        let route = route.hashed();
        let places = || self.levels.iter().map_while(OnceLock::get).flat_map(|sets| set(sets, route));
        let of = |wanted: u64| places().find(|place| place.route.load(Ordering::Relaxed) == wanted);
        if let Some(place) = of(route).or_else(|| of(0)) {
            return place.write(route, known);
        }
        // The levels that exist are full for this route.
        if let Some((level, sets)) = self.levels.iter().zip(SETS).find(|(level, _)| level.get().is_none()) {
            let made =
                level.get_or_init(|| (0..sets).map(|_| std::array::from_fn(|_| Place::empty())).collect());
            if let Some(place) = set(made, route).first() {
                place.write(route, known);
            }
            return;
        }
        let bucket = |place: &&Place| Partition::from_hash(place.bucket.load(Ordering::Relaxed));
        if let Some(place) = places().find(|place| rests(bucket(place))) {
            place.write(route, known);
        }
    }

    /// How many routes are known.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let places = self.levels.iter().map_while(OnceLock::get).flat_map(|sets| sets.iter().flatten());
        places.filter(|place| place.route.load(Ordering::Relaxed) != 0).count()
    }
}

/// The places of a level where `route` may stand.
#[inline]
fn set(sets: &[[Place; WAYS]], route: u64) -> &[Place] {
    // The upper half spreads evenly over any number of sets.
    let at = (route >> 32).saturating_mul(sets.len() as u64) >> 32;
    usize::try_from(at).ok().and_then(|at| sets.get(at)).map_or(&[], |set| set)
}

#[cfg(all(test, forbear_loom))]
mod models {
    use std::sync::Arc;

    use loom::thread;

    use super::*;
    use crate::sync::interrupted;

    /// Who reads while a place changes hands finds what was written for the route, whole, or nothing.
    #[test]
    fn a_place_that_changes_hands() {
        fn of(number: u64) -> Partition {
            Partition::from_hash(number)
        }
        fn known(number: u64) -> Known {
            Known { bucket: of(10 * number), told: 100 * number }
        }
        // Each word is read in many orders; the mistakes that can be made take two.
        interrupted(3, || {
            let place = Arc::new(Place::empty());
            place.write(1, known(1));
            let reads = {
                let place = Arc::clone(&place);
                thread::spawn(move || place.read(1))
            };
            place.write(4, known(4));
            place.write(1, known(5));
            let read = reads.join().unwrap();
            assert!(read.is_none_or(|read| read == known(1) || read == known(5)), "{read:?}");
        });
    }
}
