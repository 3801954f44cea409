//! What all services of one layer share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forbear_core::budget::Budget;
use forbear_core::stale::{StaleCounts, StalePolicy};
use forbear_core::time::Monotonic;
use http::request::Parts;
use http::{HeaderMap, Uri};

use super::entry::Entry;
use super::flight::Flights;
use super::key::{Key, Keys};
use super::policy::{Caching, Whose};
use super::room::Room;
use super::store::{Reading, Store};
use super::wall::Wall;
use crate::budget::effective;
use crate::clock;

/// How long an attempt goes on for which nobody waits, and others join it.
pub(super) fn longest(budget: Option<Duration>) -> Duration {
    budget.unwrap_or(Budget::WAIT_WITHOUT)
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
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
    /// What all bodies take that are on their way.
    pub(super) room: Arc<Room>,
    /// The longest that anybody waits for an answer.
    pub(super) budget: Option<Duration>,
    pub(super) wall: Wall,
}

impl Shared {
    pub(super) fn wall(&self) -> SystemTime {
        self.wall.now()
    }

    pub(super) fn caching(&self, policy: &StalePolicy) -> Caching {
        Caching { shared: self.is_shared, no_store: policy.stores_no_store() }
    }

    pub(super) fn find(&self, key: Key, uri: &Uri, headers: &HeaderMap) -> Option<Arc<Entry>> {
        self.store.find(key, uri, headers)
    }

    pub(super) fn put(&self, asked: &Parts, whose: &Whose, entry: &Arc<Entry>) {
        entry.count(&whose.counts);
        self.store.put(self.keys.of(asked), &self.keys, whose.name.as_ref(), entry);
    }

    /// What the store behind memory has for this request, or nothing once the caller has waited long enough for it.
    pub(super) async fn read(&self, key: Key, asked: &Parts, whose: &Whose) -> Option<Arc<Entry>> {
        let caching = self.caching(&whose.policy);
        let reading = Reading { key, asked, caching, now: self.wall(), counts: &whose.counts };
        let budget = effective(&asked.extensions).deadline().map(|deadline| deadline.since(clock::now()));
        let found = self.store.read(reading, self.keys, budget).await;
        let found = found.iter().find(|entry| entry.matches(&asked.uri, &asked.headers)).cloned();
        // Whatever came meanwhile is newer.
        self.find(key, &asked.uri, &asked.headers).or(found)
    }

    /// Until when an attempt goes on for which nobody waits.
    pub(super) fn background(&self) -> Monotonic {
        clock::now().after(longest(self.budget))
    }
}
