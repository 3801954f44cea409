//! Looks: one for all who ask for the same at once.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forbear_core::stale::StaleCounts;
use forbear_core::store::{FoundResponses, StoreError, StoreFault, StoredResponse};
use forbear_core::work::Stamp;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use tokio::sync::watch;

use super::queue::Change;
use super::{Durable, bounded};
use crate::clock;
use crate::stale::entry::Entry;
use crate::stale::headers::is_so_long;
use crate::stale::key::{Key, Keys};
use crate::stale::memory::add;
use crate::stale::policy::Caching;
use crate::stale::store::{Reading, Store};

/// No store is waited for longer.
const LONGEST: Duration = Duration::from_millis(50);

/// So long a look waits behind others, while the store answers those: a crowd that comes for what it has, each for something else, asks no vendor.
const IN_LINE: Duration = Duration::from_secs(1);

/// What there is under a key, the newest first.
pub(in crate::stale) type Found = Arc<[Arc<Entry>]>;

/// A look that is under way.
#[derive(Debug)]
pub(super) struct Underway {
    told: watch::Receiver<Option<Found>>,
    /// What is read is forgotten meanwhile.
    spoiled: bool,
}

impl Underway {
    pub(super) fn spoil(&mut self) {
        self.spoiled = true;
    }
}

/// A look, in a task of its own: it ends whoever leaves. So many go to the store at once: a crowd must not look like a store that does not answer.
struct Look {
    durable: Arc<Durable>,
    into: Arc<Store>,
    key: Key,
    keys: Keys,
    asked: Parts,
    caching: Caching,
    now: SystemTime,
    counts: Arc<StaleCounts>,
    pending: Option<Change>,
    tell: watch::Sender<Option<Found>>,
}

impl Durable {
    pub(in crate::stale) async fn read(
        self: &Arc<Self>,
        into: &Arc<Store>,
        reading: Reading<'_>,
        keys: Keys,
        budget: Option<Duration>,
    ) -> Found {
        let mut told = self.look(into, &reading, keys);
        // At most half of a budget, so that there is time for an attempt; a look that nobody stands before is worth it.
        let most = budget.map_or(IN_LINE, |budget| (budget / 2).max(LONGEST).min(budget).min(IN_LINE));
        let found = tokio::time::timeout(most, told.wait_for(Option::is_some)).await;
        found.ok().and_then(Result::ok).and_then(|found| found.clone()).unwrap_or_default()
    }

    fn look(
        self: &Arc<Self>,
        into: &Arc<Store>,
        reading: &Reading<'_>,
        keys: Keys,
    ) -> watch::Receiver<Option<Found>> {
        let Reading { key, asked, caching, now, counts } = *reading;
        let mut state = self.lock();
        if let Some(underway) = state.readings.get(&key) {
            return underway.told.clone();
        }
        let (tell, told) = watch::channel(None);
        let spoiled = state.purges > 0;
        state.readings.insert(key, Underway { told: told.clone(), spoiled });
        let pending = state.queue.pending(key);
        drop(state);
        let look = Look {
            durable: Arc::clone(self),
            into: Arc::clone(into),
            key,
            keys,
            asked: asked.clone(),
            caching,
            now,
            counts: Arc::clone(counts),
            pending,
            tell,
        };
        tokio::spawn(look.run());
        told
    }

    async fn find(&self, key: Key, now: SystemTime) -> Result<FoundResponses, StoreError> {
        let (store, name) = (Arc::clone(&self.store), self.store.name());
        let found = async move { store.find(key, Stamp::of(now)).await };
        let mut found = bounded(LONGEST, "find responses", found).await;
        match &mut found {
            Ok(found) => {
                self.reads.worked(name);
                let rows = found.responses.len();
                found.responses.retain(|row| row.key == key && has_its_length(row));
                found.dropped += rows - found.responses.len();
                found.responses.truncate(Key::VARIANTS);
                if found.dropped > 0 {
                    let rows = found.dropped;
                    tracing::warn!(
                        store = name,
                        rows,
                        "the store of answers held what nobody can have written; it is dropped"
                    );
                }
            }
            Err(error) => {
                let _ = self.reads.failed(name, error);
            }
        }
        found
    }
}

/// Whether the body is as long as the head says: only such were stored.
fn has_its_length(row: &StoredResponse) -> bool {
    is_so_long(row.fields.get(CONTENT_LENGTH), row.body.len())
}

impl Look {
    async fn run(self) {
        let found = match tokio::time::timeout(IN_LINE, self.durable.looks.acquire()).await {
            // Of those before some may have met a fault.
            Ok(_place) if !self.durable.reads.rests(clock::now()) => {
                self.durable.find(self.key, self.now).await
            }
            _ => Err(StoreError::new(StoreFault::TimedOut, "find responses")),
        };
        let failed = found.is_err();
        let Change { removed, puts } = self.pending.clone().unwrap_or_default();
        let aged = |(response, at): (StoredResponse, SystemTime)| StoredResponse {
            age: self.now.duration_since(at).unwrap_or_default(),
            ..response
        };
        let mut rows: Vec<_> = puts.into_iter().rev().map(aged).collect();
        if !removed {
            rows.extend(found.unwrap_or_default().responses);
        }
        let family = rows.first().and_then(|row| row.family.clone());
        let mut entries = Vec::new();
        for row in rows {
            let entry = Entry::from_store(row, &self.asked, self.keys, self.now, self.caching);
            add(&mut entries, entry.map(Arc::new).as_slice());
        }
        let found: Found = entries.into();
        self.end(failed, family.as_ref(), found);
    }

    /// Puts it into memory, unless it was forgotten meanwhile, and tells all who wait.
    fn end(&self, failed: bool, family: Option<&Arc<str>>, mut found: Found) {
        let mut state = self.durable.lock();
        let spoiled = state.readings.remove(&self.key).is_some_and(|underway| underway.spoiled);
        if spoiled {
            found = Found::default();
        } else if !found.is_empty() {
            for entry in found.iter() {
                entry.count_again(&self.counts);
            }
            self.into.fill(self.key, family, &found);
        } else if !failed && state.queue.pending(self.key).is_none() {
            self.durable.absent.insert(self.key, ());
        }
        drop(state);
        self.tell.send_replace(Some(found));
    }
}

impl Drop for Look {
    /// Where it did not end, as where its runtime went.
    fn drop(&mut self) {
        let mut state = self.durable.lock();
        let mine = |underway: &Underway| underway.told.same_channel(&self.tell.subscribe());
        if state.readings.get(&self.key).is_some_and(mine) {
            state.readings.remove(&self.key);
        }
    }
}
