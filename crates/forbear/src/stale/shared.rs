//! What all services of one layer share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forbear_core::stale::{StaleCounts, StalePolicy};
use forbear_core::time::Monotonic;
use http::request::Parts;
use http::{HeaderMap, Uri};

use super::entry::Entry;
use super::flight::Flights;
use super::key::{Key, Keys};
use super::policy::{Caching, Whose};
use super::store::Store;
use crate::clock;

/// An attempt for which nobody waits any more takes no longer, where there is no budget.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) flights: Arc<Flights>,
    pub(super) keys: Keys,
    /// What holds for all that have no policy of their own.
    pub(super) policy: Arc<StalePolicy>,
    /// Where everything is counted, where no families are known.
    pub(super) counts: Arc<StaleCounts>,
    /// As a cache of many users.
    pub(super) is_shared: bool,
    /// Of a larger body nothing is stored.
    pub(super) max_entry: usize,
    /// The longest that anybody waits for an answer.
    pub(super) budget: Option<Duration>,
    /// One moment by both clocks.
    pub(super) anchor: (SystemTime, Monotonic),
}

impl Shared {
    /// The wall clock, never behind the monotonic one: a clock that was set back makes no answer younger, and a suspend makes
    /// it older.
    pub(super) fn wall(&self) -> SystemTime {
        let (wall, monotonic) = self.anchor;
        let counted = wall.checked_add(clock::now().since(monotonic)).unwrap_or(wall);
        counted.max(clock::wall())
    }

    pub(super) fn caching(&self, policy: &StalePolicy) -> Caching {
        Caching { shared: self.is_shared, no_store: policy.stores_no_store() }
    }

    pub(super) fn find(&self, key: Key, uri: &Uri, headers: &HeaderMap) -> Option<Arc<Entry>> {
        self.store.find(key, uri, headers)
    }

    pub(super) fn put(&self, asked: &Parts, whose: &Whose, entry: &Arc<Entry>) {
        entry.count(&whose.counts);
        self.store.put(self.keys.of(asked), entry);
    }

    /// Until when an attempt goes on for which nobody waits.
    pub(super) fn background(&self) -> Monotonic {
        clock::now().after(self.budget.unwrap_or(LONGEST))
    }
}
