use std::sync::{Arc, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use http::Uri;

use crate::gate;
use crate::living::{Id, Living};
use crate::partition::Partition;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, of_the_process};
use crate::time::Monotonic;

use super::key::UrlKey;
use super::names::Names;

/// As many authorities are told apart when the map of URLs is full; what finds no room there shares one deadline.
const MOST_AUTHORITIES: usize = 10_000;

/// What is over makes room in a full map at most so often: a look through a million deadlines holds everybody up.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

of_the_process! {
    /// All maps of the process.
    static MAPS: Living<Deadlines> = Living::new();
}

/// Names a map without holding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlinesId(Id);

impl DeadlinesId {
    /// The map, if it still lives.
    #[must_use]
    pub fn find(self) -> Option<Arc<Deadlines>> {
        MAPS.find(self.0)
    }
}

/// Deadlines by URL, bounded. While none lies in the future a look costs one atomic load.
#[derive(Debug)]
pub struct Deadlines {
    id: Id,
    /// The latest deadline of all; zero while there is none.
    latest: AtomicU64,
    most: usize,
    hasher: RandomState,
    recorded: Mutex<Recorded>,
    overflows: AtomicU64,
}

#[derive(Debug, Default)]
struct Recorded {
    by_url: HashTable<(u64, Monotonic)>,
    by_authority: HashMap<u64, Monotonic, RandomState>,
    /// What is over is not looked for again before.
    sweep_from: Monotonic,
    /// For all that found no room.
    rest: Option<Monotonic>,
    names: Names,
    /// The count of operators' clears that this was recorded after.
    clears: u64,
}

impl Deadlines {
    /// A map of at most `most` URLs; more are remembered by authority, and counted.
    #[must_use]
    pub fn new(most: usize) -> Arc<Self> {
        MAPS.add(|id| Self {
            id,
            latest: AtomicU64::new(0),
            most,
            hasher: RandomState::default(),
            recorded: Mutex::default(),
            overflows: AtomicU64::new(0),
        })
    }

    /// Its name, for who cannot hold it.
    #[must_use]
    #[inline]
    pub fn id(&self) -> DeadlinesId {
        DeadlinesId(self.id)
    }

    /// What a URL is recorded under; one without a host is that of `host`, the request's `Host` field.
    #[must_use]
    #[inline]
    pub fn key(&self, uri: &Uri, host: Option<&str>, partition: Option<Partition>) -> UrlKey {
        UrlKey::of(uri, host, partition, &self.hasher)
    }

    /// Whether nothing is recorded at all, so that no clock need be read.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.latest.load(Ordering::Acquire) == 0
    }

    /// How many deadlines were recorded by authority because the map was full.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }

    /// The deadline of a URL, if it lies in the future.
    #[must_use]
    pub fn get(&self, key: UrlKey, now: Monotonic) -> Option<Monotonic> {
        if self.latest.load(Ordering::Acquire) <= now.as_nanos() {
            return None;
        }
        let recorded = self.lock();
        let by_url = recorded.by_url.find(key.url, |(url, _)| *url == key.url).map(|(_, until)| *until);
        let others = recorded.by_authority.get(&key.authority).copied().max(recorded.rest);
        by_url.max(others).filter(|until| *until > now)
    }

    /// The family that a URL was last charged to, where that is remembered: of at most 10,000 URLs.
    #[must_use]
    pub fn family(&self, key: UrlKey) -> Option<Arc<str>> {
        self.lock().names.get(key.url)
    }

    /// Remembers the family that a URL is charged to, as long as its deadline is `until`.
    pub fn charge(&self, key: UrlKey, family: &Arc<str>, until: Monotonic, now: Monotonic) {
        if until > now {
            self.lock().names.insert(key.url, family, until, now);
        }
    }

    /// Records a deadline. Where it is the same logical request that recorded before (`again`), one that lies in the
    /// future is not moved; otherwise the later one stands.
    pub fn record(&self, key: UrlKey, until: Monotonic, again: bool, now: Monotonic) {
        if until <= now {
            return;
        }
        let mut recorded = self.lock();
        let kept = match recorded.by_url.find_mut(key.url, |(url, _)| *url == key.url) {
            Some((_, known)) => {
                if !(again && *known > now) {
                    *known = until.max(*known);
                }
                *known
            }
            None => {
                self.insert(&mut recorded, key, until, now);
                until
            }
        };
        self.latest.fetch_max(kept.as_nanos(), Ordering::AcqRel);
    }

    fn insert(&self, recorded: &mut Recorded, key: UrlKey, until: Monotonic, now: Monotonic) {
        // Before the table grows, what is over makes room.
        if recorded.by_url.len() == recorded.by_url.capacity().min(self.most) && now >= recorded.sweep_from {
            recorded.sweep_from = now.after(SWEEP_EVERY);
            recorded.by_url.retain(|(_, until)| *until > now);
            recorded.by_authority.retain(|_, until| *until > now);
        }
        if recorded.by_url.len() < self.most {
            recorded.by_url.insert_unique(key.url, (key.url, until), |(url, _)| *url);
            return;
        }
        self.overflows.fetch_add(1, Ordering::Relaxed);
        if recorded.by_authority.len() < MOST_AUTHORITIES
            || recorded.by_authority.contains_key(&key.authority)
        {
            let known = recorded.by_authority.entry(key.authority).or_insert(until);
            *known = until.max(*known);
        } else {
            recorded.rest = recorded.rest.max(Some(until));
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.forget(&mut self.recorded.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn forget(&self, recorded: &mut Recorded) {
        *recorded = Recorded { clears: gate::clears(), ..Recorded::default() };
        self.latest.store(0, Ordering::Release);
    }

    /// What is recorded, emptied first where an operator cleared a family since.
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.clears != gate::clears() {
            self.forget(&mut recorded);
        }
        recorded
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        MAPS.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_is_gone_frees_its_place() {
        let places = (0..1000).map(|_| Deadlines::new(1).id().0.place);
        assert!(places.max().unwrap() < 500);
    }
}
