//! What all services of one layer share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forbear_core::time::Monotonic;
use http::request::Parts;
use http::{HeaderMap, Uri};

use super::entry::Entry;
use super::flight::Flights;
use super::key::{Key, Keys};
use super::policy::{Caching, StalePolicy};
use super::store::Store;
use crate::clock;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) flights: Arc<Flights>,
    pub(super) keys: Keys,
    pub(super) policy: StalePolicy,
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

    pub(super) fn caching(&self) -> Caching {
        Caching { shared: self.is_shared, no_store: self.policy.no_store }
    }

    pub(super) fn find(&self, key: Key, uri: &Uri, headers: &HeaderMap) -> Option<Arc<Entry>> {
        self.store.find(key, uri, headers)
    }

    pub(super) fn put(&self, asked: &Parts, entry: &Arc<Entry>) {
        self.store.put(self.keys.of(asked), entry);
    }

    /// Whether an answer that is past its freshness by this much may be served where there is no new one.
    pub(super) fn serves(&self, entry: &Entry, by: Duration) -> bool {
        let directives = entry.directives();
        !directives.must_revalidate
            && by <= self.policy.max_stale.max(directives.if_error.unwrap_or_default())
    }

    /// Whether it may be served at once, while a new one is fetched.
    pub(super) fn serves_at_once(&self, entry: &Entry, by: Duration) -> bool {
        let directives = entry.directives();
        let longest = self.policy.while_revalidate.max(directives.while_revalidate.unwrap_or_default());
        !directives.must_revalidate && !longest.is_zero() && by <= longest
    }
}
