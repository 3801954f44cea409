//! Which bucket of its vendor a route counts in, as answers tell.

use std::sync::{Arc, OnceLock, PoisonError};

use hashbrown::HashMap;

use crate::partition::Partition;
use crate::signal::clean;
use crate::sync::{RandomState, RwLock};
use crate::time::Monotonic;

use super::engine::Gate;

/// So many routes of a family are known by their bucket; another one takes the place of any.
const MOST: usize = 10_000;

/// The bucket of each route that one was named for.
#[derive(Default)]
pub(super) struct Buckets {
    by_route: OnceLock<Box<RwLock<HashMap<Partition, Partition, RandomState>>>>,
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
        let by_route = self.buckets.by_route.get()?;
        let by_route = by_route.read().unwrap_or_else(PoisonError::into_inner);
        by_route.get(&route).map(|bucket| bucket.within(credential))
    }

    /// An answer on `route` named its bucket. A known one costs a look.
    pub fn learn_bucket(&self, route: Partition, name: &str) {
        let bucket = Partition::of_bucket(name);
        let by_route = self.buckets.by_route.get_or_init(Box::default);
        let known = by_route.read().unwrap_or_else(PoisonError::into_inner).get(&route) == Some(&bucket);
        if known {
            return;
        }
        let mut by_route = by_route.write().unwrap_or_else(PoisonError::into_inner);
        if by_route.len() >= MOST && !by_route.contains_key(&route) {
            let any = by_route.keys().next().copied();
            any.and_then(|any| by_route.remove(&any));
        }
        by_route.insert(route, bucket);
    }

    /// The gate of the bucket of this name, made where it has none.
    #[must_use]
    pub fn bucket_for(&self, name: &str, credential: Option<Partition>, now: Monotonic) -> Arc<Self> {
        let label = format!("bucket {}", clean(name, 64));
        self.partition_named(Partition::of_bucket(name).within(credential), label.trim_end(), now)
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

    #[test]
    fn a_route_is_in_the_bucket_that_was_named_last_and_all_is_bounded() {
        let gate = Gate::new("acme", Arc::new(GateSettings::registered()));
        let route = |at: usize| Partition::of_template(&Method::GET, &format!("/things-{at}x"));
        assert_eq!(gate.bucket(route(0), None), None);
        gate.learn_bucket(route(0), "core");
        gate.learn_bucket(route(1), "search");
        gate.learn_bucket(route(2), "core");
        let bucket = |at| gate.bucket(route(at), None);
        assert!(bucket(0).is_some() && bucket(0) == bucket(2) && bucket(0) != bucket(1));
        let of = |credential: &str| gate.bucket(route(0), Some(Partition::of(credential)));
        assert!(of("a").is_some() && of("a") != of("b") && of("a") != bucket(0));
        gate.learn_bucket(route(0), "search");
        assert_eq!(bucket(0), bucket(1));
        for at in 0..MOST + 10 {
            gate.learn_bucket(route(at), "core");
        }
        assert_eq!(gate.buckets.by_route.get().unwrap().read().unwrap().len(), MOST);
        assert!(bucket(MOST + 9).is_some());
    }
}
