//! Responses in the file. They are read by a thread of its own, so that who asks waits for nobody's write.

mod evict;
mod find;
mod put;
mod reader;
mod row;
mod sql;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forbear_core::store::{
    FoundResponses, KeptResponses, PurgeResponses, ResponseKey, ResponseSecret, ResponseStore, StoreClock,
    StoreFault, StoreFuture, StoredResponse,
};
use forbear_core::work::Stamp;
use rusqlite::Connection;

use crate::SqliteStore;

pub(crate) use reader::Reader;
#[cfg(test)]
pub(crate) use sql::statements;
pub(crate) use sql::{prepare, recount};

/// So many are purged in one transaction: those who keep cool-downs wait for no more.
const PURGED_AT_ONCE: usize = 256;

/// So much goes, beside what comes, where the file is full.
const ROOM: u64 = 64 * 1024;

/// What all clones of a store share of its responses.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What keys are hashed with; a file with another keeps and tells nothing.
    pub(crate) secret: ResponseSecret,
    /// So many bytes at most.
    pub(crate) most: u64,
    clock: Mutex<StoreClock>,
}

impl Shared {
    pub(crate) fn new(secret: ResponseSecret, most: u64) -> Arc<Self> {
        Arc::new(Self { secret, most, clock: Mutex::default() })
    }

    fn clock(&self) -> MutexGuard<'_, StoreClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store's own time, which goes on from where the file says that it was; `None` where the file says what no clock can have meant.
    fn now(&self, connection: &Connection, now: Stamp) -> rusqlite::Result<Option<Now>> {
        let Some(was_at) = sql::was_at(connection)? else { return Ok(None) };
        let mut clock = self.clock();
        clock.was_at(was_at);
        Ok(Some(Now { now: clock.read(now), was_at }))
    }
}

/// A moment by the store's own time.
#[derive(Debug, Clone, Copy)]
struct Now {
    now: Stamp,
    /// The latest that is in the file.
    was_at: Stamp,
}

impl ResponseStore for SqliteStore {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn secret(&self) -> ResponseSecret {
        self.responses().secret
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses> {
        Box::pin(self.reader().find(key, now))
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let (shared, responses) = (Arc::clone(self.responses()), Arc::new(responses));
            let put = || {
                let (shared, responses) = (Arc::clone(&shared), Arc::clone(&responses));
                self.writer().ask(move |connection| put::put(connection, &shared, &responses, now))
            };
            match put().await {
                // The rest of the file took the room: they are what there is to give.
                Err(error) if error.fault() == StoreFault::Full => {
                    let bytes = responses.iter().map(StoredResponse::bytes).fold(ROOM, u64::saturating_add);
                    self.writer().ask(move |connection| evict::give(connection, bytes)).await?;
                    put().await
                }
                done => done,
            }
        })
    }

    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()> {
        Box::pin(self.writer().ask(move |connection| {
            for key in keys {
                sql::delete_key(connection, key)?;
            }
            Ok(())
        }))
    }

    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let mut purged: u64 = 0;
            loop {
                let what = what.clone();
                let some = self.writer().ask(move |connection| {
                    let ids = sql::of(connection, &what, PURGED_AT_ONCE)?;
                    for id in &ids {
                        sql::delete(connection, *id)?;
                    }
                    Ok(ids.len())
                });
                match some.await? {
                    0 => return Ok(purged),
                    some => purged = purged.saturating_add(u64::try_from(some).unwrap_or(u64::MAX)),
                }
            }
        })
    }

    fn kept(&self) -> StoreFuture<'_, KeptResponses> {
        Box::pin(self.writer().ask(sql::kept))
    }
}
