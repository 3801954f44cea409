//! Which bucket of its vendor a route counts in, as answers tell.

use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;

use crate::partition::Partition;
use crate::signal::clean;
use crate::sync::{Mutex, MutexGuard, RandomState, fewer};
use crate::time::Monotonic;

use super::engine::Gate;
use super::learned::{Known, Learned};

/// So many limited buckets are remembered.
const MOST: usize = fewer(10_000, 3);
/// A bucket that was limited since then may cool still: that is as long as one may cool by default. Its routes make no room
/// for others.
const COOLS_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The bucket of each route that one was named for.
#[derive(Default)]
pub(super) struct Buckets(OnceLock<Box<Told>>);

/// What answers told.
#[derive(Default)]
struct Told {
    learned: Learned,
    /// When each bucket was limited last. Whoever holds it may write what is learned.
    limited: Mutex<HashMap<Partition, Monotonic, RandomState>>,
}

impl Told {
    fn limited(&self) -> MutexGuard<'_, HashMap<Partition, Monotonic, RandomState>> {
        self.limited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, route: Partition, known: Known, now: Monotonic) {
        let limited = self.limited();
        let rests = |bucket| limited.get(&bucket).is_none_or(|limited| now.since(*limited) > COOLS_FOR);
        self.learned.learn(route, known, rests);
    }

    fn limit(&self, bucket: Partition, now: Monotonic) {
        let mut limited = self.limited();
        if limited.len() >= MOST {
            limited.retain(|_, limited| now.since(*limited) <= COOLS_FOR);
        }
        if limited.len() < MOST || limited.contains_key(&bucket) {
            limited.insert(bucket, now);
        }
    }
}

impl std::fmt::Debug for Buckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets").finish_non_exhaustive()
    }
}

impl Known {
    /// The part of its family that a request of `credential` counts in.
    #[must_use]
    pub fn part(&self, credential: Option<Partition>) -> Partition {
        self.bucket.within(credential)
    }
}

impl Gate {
    /// What is known of `route`, without a lock.
    #[must_use]
    #[inline]
    pub fn bucket(&self, route: Partition) -> Option<Known> {
        self.buckets.0.get()?.learned.get(route)
    }

    /// An answer on `route` named its bucket, by words of the fingerprint `told`. At most ten thousand routes are known; one
    /// of a bucket that rests makes room.
    pub fn learn_bucket(&self, route: Partition, name: &str, told: u64, now: Monotonic) {
        let known = Known { bucket: Partition::of_bucket(name), told };
        if self.bucket(route) != Some(known) {
            self.buckets.0.get_or_init(Box::default).learn(route, known, now);
        }
    }

    /// The gate of the bucket of this name, which was limited, made where it has none.
    #[must_use]
    pub fn bucket_for(&self, name: &str, credential: Option<Partition>, now: Monotonic) -> Arc<Self> {
        let bucket = Partition::of_bucket(name);
        self.buckets.0.get_or_init(Box::default).limit(bucket, now);
        let label = format!("bucket {}", clean(name, 64));
        self.partition_named(bucket.within(credential), label.trim_end(), now)
    }

    /// The gate of one route by its template, made where it has none; `path` names it.
    #[must_use]
    pub fn template_for(
        &self,
        route: Partition,
        credential: Option<Partition>,
        path: &str,
        now: Monotonic,
    ) -> Arc<Self> {
        let label = format!("route {}", clean(path, 64));
        self.partition_named(route.within(credential), label.trim_end(), now)
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::gate::GateSettings;
    use crate::gate::learned::MOST as MOST_ROUTES;

    fn at(seconds: u64) -> Monotonic {
        Monotonic::ORIGIN.after(Duration::from_secs(seconds))
    }

    fn gate() -> Arc<Gate> {
        Gate::new("acme", Arc::new(GateSettings::registered()))
    }

    fn route(at: usize) -> Partition {
        Partition::of_template(&Method::GET, &format!("/things-{at}x"))
    }

    fn learn(gate: &Gate, number: usize, name: &str, now: Monotonic) {
        gate.learn_bucket(route(number), name, 7, now);
    }

    fn known(gate: &Gate) -> usize {
        gate.buckets.0.get().map_or(0, |told| told.learned.len())
    }

    #[test]
    fn a_route_is_in_the_bucket_that_was_named_last_and_all_is_bounded() {
        let gate = gate();
        assert_eq!(gate.bucket(route(0)), None);
        learn(&gate, 0, "core", at(1));
        learn(&gate, 1, "search", at(1));
        learn(&gate, 2, "core", at(1));
        let bucket = |at| gate.bucket(route(at)).map(|known| known.part(None));
        assert!(bucket(0).is_some() && bucket(0) == bucket(2) && bucket(0) != bucket(1));
        let of =
            |credential: &str| gate.bucket(route(0)).map(|known| known.part(Some(Partition::of(credential))));
        assert!(of("a").is_some() && of("a") != of("b") && of("a") != bucket(0));
        learn(&gate, 0, "search", at(1));
        assert_eq!((bucket(0), known(&gate)), (bucket(1), 3));
        gate.learn_bucket(route(0), "search", 8, at(1));
        assert_eq!(gate.bucket(route(0)).map(|known| known.told), Some(8));
        for number in 0..2 * MOST_ROUTES {
            learn(&gate, number, "core", at(1));
            assert!(bucket(number).is_some(), "the one that was named last is known: {number}");
        }
        assert_eq!(MOST_ROUTES, 10_000);
        assert!((MOST_ROUTES * 9 / 10..=MOST_ROUTES).contains(&known(&gate)), "{}", known(&gate));
    }

    #[test]
    fn a_route_of_a_bucket_that_may_cool_makes_no_room() {
        let gate = gate();
        let of_slow = 100;
        for number in 0..of_slow {
            learn(&gate, number, "slow", at(1));
        }
        let _ = gate.bucket_for("slow", None, at(2));
        let kept = |gate: &Gate| (0..of_slow).filter(|number| gate.bucket(route(*number)).is_some()).count();
        for number in of_slow..3 * MOST_ROUTES {
            learn(&gate, number, "core", at(3));
        }
        assert_eq!(kept(&gate), of_slow);
        let day = 24 * 60 * 60;
        for (numbers, after) in [(3..6, day), (6..9, day + 1)] {
            assert_eq!(kept(&gate), of_slow);
            for number in numbers.start * MOST_ROUTES..numbers.end * MOST_ROUTES {
                learn(&gate, number, "core", at(2 + after));
            }
        }
        assert!(kept(&gate) < of_slow, "more than a day later it is a bucket like any other");
    }

    #[test]
    fn buckets_of_endless_names_are_bounded() {
        let gate = gate();
        for number in 0..MOST + 10 {
            let _ = gate.bucket_for(&number.to_string(), None, at(1));
        }
        let remembered = || gate.buckets.0.get().unwrap().limited().len();
        assert_eq!(remembered(), MOST);
        // A day later all of them have rested.
        let _ = gate.bucket_for("late", None, at(24 * 60 * 60 + 2));
        assert_eq!(remembered(), 1);
    }
}
