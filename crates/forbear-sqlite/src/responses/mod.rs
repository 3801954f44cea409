//! Responses in the file. They are read by a thread of its own, so that who asks waits for nobody's write.

mod evict;
mod find;
mod put;
mod reader;
mod row;
mod sql;

use std::sync::{Arc, Mutex, PoisonError};

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
pub(crate) use sql::{prepare, recount, was_at};

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
    /// Of a file that says that it was this time.
    pub(crate) fn new(secret: ResponseSecret, most: u64, was_at: Option<Stamp>) -> Arc<Self> {
        let mut clock = StoreClock::default();
        clock.was_at(was_at.unwrap_or(Stamp::EPOCH));
        Arc::new(Self { secret, most, clock: Mutex::new(clock) })
    }

    /// The store's own time, read when something is asked for: whoever does it may come to that much later, and by then others have read later times. To
    /// read one that is past would look as if the clock had been set back.
    fn asked_at(&self, now: Stamp) -> Stamp {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner).read(now)
    }

    /// The latest time that is in the file; `None` where that is what no clock can have meant. The store's own goes on from there.
    fn was_at(&self, connection: &Connection) -> rusqlite::Result<Option<Stamp>> {
        let was_at = sql::was_at(connection)?;
        if let Some(was_at) = was_at {
            self.clock.lock().unwrap_or_else(PoisonError::into_inner).was_at(was_at);
        }
        Ok(was_at)
    }
}

impl ResponseStore for SqliteStore {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn secret(&self) -> ResponseSecret {
        self.responses().secret
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses> {
        let at = self.responses().asked_at(now);
        Box::pin(self.reader().find(key, at))
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        let at = self.responses().asked_at(now);
        Box::pin(async move {
            let (shared, responses) = (Arc::clone(self.responses()), Arc::new(responses));
            let put = || {
                let (shared, responses) = (Arc::clone(&shared), Arc::clone(&responses));
                self.writer().ask(move |connection| put::put(connection, &shared, &responses, at))
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
