//! What lies behind memory: a store that keeps responses. No request waits for its writes, and for a look no longer than 50 ms.

mod bounded;
mod queue;
mod read;
mod trouble;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use forbear_core::store::{PurgeResponses, ResponseSecret, ResponseStore, StoreError, StoredResponse};
use moka::sync::Cache;
use tokio::sync::{Notify, Semaphore};

use super::key::Key;
use super::wall::Wall;
use crate::clock;
use bounded::bounded;
use queue::Queue;
use read::Underway;
use trouble::Trouble;

pub(super) use read::Found;

/// Of so many keys it is known that the store has nothing under them,
const ABSENT: u64 = 10_000;
/// for so long: another process may have written meanwhile.
const KNOWN: Duration = Duration::from_secs(60);

/// A purge that takes longer is given up, and may be asked for again: until it ends the store is not read.
const PURGE: Duration = Duration::from_secs(60);

/// So many looks are made at once: a store that makes one after the other is to have time for all of them.
const LOOKS: usize = 16;

/// A store behind memory.
#[derive(Debug)]
pub(super) struct Durable {
    store: Arc<dyn ResponseStore>,
    wall: Wall,
    state: Mutex<State>,
    /// A batch was written, or was not.
    progress: Notify,
    /// Somebody waits for what is to be written, also where the store is left alone.
    hurry: Notify,
    absent: Cache<Key, (), foldhash::fast::RandomState>,
    looks: Semaphore,
    reads: Trouble,
    writes: Trouble,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue,
    /// What is being read, for all who ask for it.
    readings: HashMap<Key, Underway>,
    /// So many purges are under way: what the store has says nothing.
    purges: usize,
    /// Whether a task writes.
    is_writing: bool,
    /// Of answers that came faster than they were written it was told.
    told_of_lost: bool,
    /// How many batches ended, written or not.
    ended: u64,
    /// How often a batch was not written, and why the last time.
    failures: u64,
    last: Option<StoreError>,
}

impl Durable {
    pub(super) fn new(store: Arc<dyn ResponseStore>, wall: Wall) -> Self {
        let absent = Cache::builder().max_capacity(ABSENT).time_to_live(KNOWN);
        Self {
            store,
            wall,
            state: Mutex::default(),
            progress: Notify::new(),
            hurry: Notify::new(),
            absent: absent.build_with_hasher(foldhash::fast::RandomState::default()),
            looks: Semaphore::new(LOOKS),
            reads: Trouble::new("read"),
            writes: Trouble::new("write"),
        }
    }

    /// What keys are hashed with.
    pub(super) fn secret(&self) -> ResponseSecret {
        self.store.secret()
    }

    /// Whether a look may find something, and is worth its while.
    pub(super) fn may_have(&self, key: Key) -> bool {
        !self.reads.rests(clock::now()) && !self.absent.contains_key(&key)
    }

    /// Has a response written in the background.
    pub(super) fn put(self: &Arc<Self>, response: StoredResponse, at: SystemTime) {
        let key = response.key;
        let mut state = self.lock();
        let lost = !state.queue.put(response, at);
        let tells = lost && !std::mem::replace(&mut state.told_of_lost, true);
        drop(state);
        self.absent.invalidate(&key);
        if tells {
            tracing::warn!(
                store = self.store.name(),
                "answers come faster than the store keeps them; those that it does not are in memory alone"
            );
        }
        self.write();
    }

    /// Forgets what is under a key, here and in memory; what is read of it just now is not taken up any more.
    pub(super) fn remove(self: &Arc<Self>, key: Key, in_memory: impl FnOnce()) {
        let mut state = self.lock();
        if let Some(reading) = state.readings.get_mut(&key) {
            reading.spoil();
        }
        in_memory();
        state.queue.remove(key);
        drop(state);
        self.write();
    }

    /// Forgets many, here and in memory.
    pub(super) async fn purge(
        self: &Arc<Self>,
        what: PurgeResponses,
        in_memory: impl FnOnce() -> u64,
    ) -> Result<u64, StoreError> {
        let before = self.forget(&what, in_memory);
        // It goes on where nobody waits for it any more.
        let durable = Arc::clone(self);
        let purged = tokio::spawn(async move {
            let _purging = Purging(&durable);
            durable.until_ended(before).await;
            let store = Arc::clone(&durable.store);
            bounded(PURGE, "purge responses", async move { store.purge(what).await }).await
        });
        purged.await.unwrap_or_else(|ended| Err(bounded::ended(&ended, "purge responses")))
    }

    /// What is read just now is not taken up any more, nor what is read until the store has forgotten too. Which batch is being written: what that has
    /// may be among what is to be forgotten.
    fn forget(&self, what: &PurgeResponses, in_memory: impl FnOnce() -> u64) -> Option<u64> {
        let mut state = self.lock();
        state.purges += 1;
        state.readings.values_mut().for_each(Underway::spoil);
        let _ = in_memory();
        state.queue.purge(what);
        state.queue.is_writing().then_some(state.ended)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While it lives what the store has says nothing.
struct Purging<'a>(&'a Durable);

impl Drop for Purging<'_> {
    fn drop(&mut self) {
        self.0.lock().purges -= 1;
    }
}
