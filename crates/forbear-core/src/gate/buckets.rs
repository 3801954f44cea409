//! Which bucket of its vendor a route counts in, as answers tell.

use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;

use crate::partition::Partition;
use crate::signal::clean;
use crate::sync::{RandomState, RwLock};
use crate::time::Monotonic;

use super::engine::Gate;

/// So many routes of a family are known by their bucket.
const MOST: usize = 10_000;
/// A bucket that was limited since then may cool still: that is as long as one may cool by default. Its routes make no room
/// for others.
const COOLS_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// So many routes are looked at for one that makes room; where none does, the new one is not learned.
const LOOKED_AT: usize = 256;

/// The bucket of each route that one was named for.
#[derive(Default)]
pub(super) struct Buckets {
    learned: OnceLock<Box<RwLock<Learned>>>,
}

#[derive(Default)]
struct Learned {
    by_route: HashMap<Partition, Partition, RandomState>,
    /// When each bucket was limited last.
    limited: HashMap<Partition, Monotonic, RandomState>,
}

impl Learned {
    fn learn(&mut self, route: Partition, bucket: Partition, now: Monotonic) {
        if self.by_route.len() >= MOST && !self.by_route.contains_key(&route) {
            let rests = |bucket: &Partition| {
                self.limited.get(bucket).is_none_or(|limited| now.since(*limited) > COOLS_FOR)
            };
            let mut routes = self.by_route.iter().take(LOOKED_AT);
            let Some((&other, _)) = routes.find(|(_, bucket)| rests(bucket)) else {
                return;
            };
            self.by_route.remove(&other);
        }
        self.by_route.insert(route, bucket);
    }

    fn limited(&mut self, bucket: Partition, now: Monotonic) {
        if self.limited.len() >= MOST {
            self.limited.retain(|_, limited| now.since(*limited) <= COOLS_FOR);
        }
        if self.limited.len() < MOST || self.limited.contains_key(&bucket) {
            self.limited.insert(bucket, now);
        }
    }
}

impl std::fmt::Debug for Buckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets").finish_non_exhaustive()
    }
}

impl Gate {
    /// The part of the family that a request on `route` counts in, where its bucket is known.
    #[must_use]
    #[inline]
    pub fn bucket(&self, route: Partition, credential: Option<Partition>) -> Option<Partition> {
        let learned = self.buckets.learned.get()?;
        let learned = learned.read().unwrap_or_else(PoisonError::into_inner);
        learned.by_route.get(&route).map(|bucket| bucket.within(credential))
    }

    /// An answer on `route` named its bucket. A known one costs a look. Of 10,000 routes one of a bucket that rests makes room.
    pub fn learn_bucket(&self, route: Partition, name: &str, now: Monotonic) {
        let bucket = Partition::of_bucket(name);
        let learned = self.buckets.learned.get_or_init(Box::default);
        let known =
            learned.read().unwrap_or_else(PoisonError::into_inner).by_route.get(&route) == Some(&bucket);
        if !known {
            learned.write().unwrap_or_else(PoisonError::into_inner).learn(route, bucket, now);
        }
    }

    /// The gate of the bucket of this name, which was limited, made where it has none.
    #[must_use]
    pub fn bucket_for(&self, name: &str, credential: Option<Partition>, now: Monotonic) -> Arc<Self> {
        let bucket = Partition::of_bucket(name);
        let learned = self.buckets.learned.get_or_init(Box::default);
        learned.write().unwrap_or_else(PoisonError::into_inner).limited(bucket, now);
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

    fn at(seconds: u64) -> Monotonic {
        Monotonic::ORIGIN.after(Duration::from_secs(seconds))
    }

    fn gate() -> Arc<Gate> {
        Gate::new("acme", Arc::new(GateSettings::registered()))
    }

    fn route(at: usize) -> Partition {
        Partition::of_template(&Method::GET, &format!("/things-{at}x"))
    }

    #[test]
    fn a_route_is_in_the_bucket_that_was_named_last_and_all_is_bounded() {
        let gate = gate();
        assert_eq!(gate.bucket(route(0), None), None);
        gate.learn_bucket(route(0), "core", at(1));
        gate.learn_bucket(route(1), "search", at(1));
        gate.learn_bucket(route(2), "core", at(1));
        let bucket = |at| gate.bucket(route(at), None);
        assert!(bucket(0).is_some() && bucket(0) == bucket(2) && bucket(0) != bucket(1));
        let of = |credential: &str| gate.bucket(route(0), Some(Partition::of(credential)));
        assert!(of("a").is_some() && of("a") != of("b") && of("a") != bucket(0));
        gate.learn_bucket(route(0), "search", at(1));
        assert_eq!(bucket(0), bucket(1));
        for number in 0..MOST + 10 {
            gate.learn_bucket(route(number), "core", at(1));
        }
        assert_eq!(gate.buckets.learned.get().unwrap().read().unwrap().by_route.len(), MOST);
        assert!(bucket(MOST + 9).is_some());
    }

    #[test]
    fn a_route_of_a_bucket_that_may_cool_makes_no_room() {
        let gate = gate();
        let of_slow = 100;
        for number in 0..of_slow {
            gate.learn_bucket(route(number), "slow", at(1));
        }
        let _ = gate.bucket_for("slow", None, at(2));
        let kept =
            |gate: &Gate| (0..of_slow).filter(|number| gate.bucket(route(*number), None).is_some()).count();
        for number in of_slow..3 * MOST {
            gate.learn_bucket(route(number), "core", at(3));
        }
        assert_eq!(kept(&gate), of_slow);
        for number in 3 * MOST..6 * MOST {
            gate.learn_bucket(route(number), "core", at(2 * 24 * 60 * 60));
        }
        assert!(kept(&gate) < of_slow, "a day later it is a bucket like any other");
    }

    #[test]
    fn buckets_of_endless_names_are_bounded() {
        let gate = gate();
        for number in 0..MOST + 10 {
            let _ = gate.bucket_for(&number.to_string(), None, at(1));
        }
        assert_eq!(gate.buckets.learned.get().unwrap().read().unwrap().limited.len(), MOST);
    }
}
