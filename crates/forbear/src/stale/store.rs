//! What is stored: in memory, and behind that in a store that keeps it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forbear_core::stale::StaleCounts;
use forbear_core::store::{PurgeResponses, StoreError};
use http::request::Parts;
use http::{HeaderMap, Uri};

use super::durable::{Durable, Found};
use super::entry::Entry;
use super::key::{Key, Keys};
use super::memory::Memory;
use super::policy::Caching;

/// Responses in memory, and where there is one, a store behind it.
#[derive(Debug)]
pub(super) struct Store {
    memory: Memory,
    durable: Option<Arc<Durable>>,
}

/// How to read a row of a store: for whom, by which rules, and when.
pub(super) struct Reading<'a> {
    pub(super) key: Key,
    pub(super) asked: &'a Parts,
    pub(super) caching: Caching,
    pub(super) now: SystemTime,
    pub(super) counts: &'a Arc<StaleCounts>,
}

impl Store {
    pub(super) fn new(bytes: u64, durable: Option<Durable>) -> Arc<Self> {
        Arc::new(Self { memory: Memory::new(bytes), durable: durable.map(Arc::new) })
    }

    /// The response to this request that is in memory, stale or not; of several the newest.
    #[inline]
    pub(super) fn find(&self, key: Key, uri: &Uri, headers: &HeaderMap) -> Option<Arc<Entry>> {
        self.memory.find(key, uri, headers)
    }

    /// Stores a response in the place of what it makes old.
    pub(super) fn put(&self, key: Key, keys: &Keys, family: Option<&Arc<str>>, entry: &Arc<Entry>) {
        self.memory.put(key, family, entry);
        if let Some(durable) = &self.durable {
            if entry.is_forbidden() {
                // Never on a disk, and nor is what it takes the place of.
                durable.remove(key, || ());
            } else {
                let (response, at) = entry.to_store(key, keys, family);
                durable.put(response, at);
            }
        }
    }

    /// Forgets all responses to a URL.
    pub(super) fn remove(&self, key: Key) {
        match &self.durable {
            Some(durable) => durable.remove(key, || self.memory.remove(key)),
            None => self.memory.remove(key),
        }
    }

    /// Forgets many: those in memory now, those in the store once this answers. How many there were, in the store where there is one.
    pub(super) async fn purge(&self, what: PurgeResponses) -> Result<u64, StoreError> {
        match &self.durable {
            Some(durable) => durable.purge(what.clone(), || self.memory.purge(&what)).await,
            None => Ok(self.memory.purge(&what)),
        }
    }

    /// Whether the store may have what memory does not, and is to be asked.
    pub(super) fn may_have(&self, key: Key) -> bool {
        self.durable.as_ref().is_some_and(|durable| durable.may_have(key))
    }

    /// Reads what the store has under a key into memory, once for all who ask for it now. It ends within 50 ms where the store does not
    /// answer, within a second and half of the `budget` while it answers others, and is empty where that failed.
    pub(super) async fn read(
        self: &Arc<Self>,
        reading: Reading<'_>,
        keys: Keys,
        budget: Option<Duration>,
    ) -> Found {
        let Some(durable) = &self.durable else { return Found::default() };
        durable.read(self, reading, keys, budget).await
    }

    /// Takes over what was read, where nobody knows better.
    pub(super) fn fill(&self, key: Key, family: Option<&Arc<str>>, found: &[Arc<Entry>]) {
        self.memory.fill(key, family, found);
    }

    /// Returns once all that was stored is in the store too, where there is one, or once something could not be written.
    pub(super) async fn written(&self) -> Result<(), StoreError> {
        match &self.durable {
            Some(durable) => durable.written().await,
            None => Ok(()),
        }
    }

    /// How many bytes are in memory, about, and under how many keys.
    pub(super) fn size(&self) -> (u64, u64) {
        self.memory.size()
    }
}
