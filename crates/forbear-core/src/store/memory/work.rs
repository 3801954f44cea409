use std::collections::HashMap;
use std::future::ready;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use super::source::Source;
use crate::store::{Claims, Finish, Held, Kept, Rows, StoreFuture, WorkStore};
use crate::work::{
    Bounds, DemandReason, Demanded, Extended, Finished, Invalidated, Key, Retried, Row, SourceName, Stamp,
    Tally, Terms, Undemanded,
};

/// Refresh work in memory: it ends with its process. Never fails, and answers at once.
///
/// **Memory.** About 300 bytes a key; at most so many keys as it was made for, and what is demanded beyond that is
/// [refused](Demanded::Full). One lock, held for one call at a time; [`WorkStore::mend`] looks at every row.
#[derive(Debug)]
pub struct MemoryWorkStore {
    most: usize,
    sources: Mutex<HashMap<SourceName, Source, RandomState>>,
}

impl MemoryWorkStore {
    /// The most keys, where nothing else is said.
    pub const MOST: usize = 1_000_000;

    /// An empty one for at most [`MemoryWorkStore::MOST`] keys, of all sources together.
    #[must_use]
    pub fn new() -> Self {
        Self { most: Self::MOST, sources: Mutex::default() }
    }

    /// An empty one for at most so many keys, of all sources together.
    #[must_use]
    pub fn with_room_for(most: NonZeroUsize) -> Self {
        Self { most: most.get(), ..Self::new() }
    }

    fn sources(&self) -> MutexGuard<'_, HashMap<SourceName, Source, RandomState>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of `each`, in the order of `all`; `none` where there is no such source or row.
    fn each<A, T>(
        &self,
        source: &SourceName,
        all: &[A],
        mut each: impl FnMut(&mut Source, &A) -> Option<T>,
        none: impl Fn() -> T,
    ) -> Vec<T> {
        let mut sources = self.sources();
        let Some(source) = sources.get_mut(source) else { return all.iter().map(|_| none()).collect() };
        all.iter().map(|one| each(source, one).unwrap_or_else(&none)).collect()
    }
}

impl Default for MemoryWorkStore {
    fn default() -> Self {
        Self::new()
    }
}

impl WorkStore for MemoryWorkStore {
    fn demand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Demanded>> {
        let mut sources = self.sources();
        let mut room = self.most.saturating_sub(sources.values().map(Source::len).sum());
        let source = sources.entry(source.clone()).or_default();
        let demanded = keys.iter().map(|key| {
            if let Some(did) = source.change(key, |row| row.demand(reason, now), |_| false) {
                return did;
            }
            if room == 0 {
                return Demanded::Full;
            }
            room = room.saturating_sub(1);
            source.add(key, Row::new(reason, now));
            Demanded::New
        });
        answer(demanded.collect())
    }

    fn undemand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
    ) -> StoreFuture<'a, Vec<Undemanded>> {
        let gone = |did: &Undemanded| *did == Undemanded::Gone;
        let undemand = |source: &mut Source, key: &Key| source.change(key, |row| row.undemand(reason), gone);
        answer(self.each(source, keys, undemand, || Undemanded::NotDemanded))
    }

    fn invalidate<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Invalidated>> {
        let invalidate =
            |source: &mut Source, key: &Key| source.change(key, |row| row.invalidate(now), |_| false);
        answer(self.each(source, keys, invalidate, || Invalidated::NotDemanded))
    }

    fn retry<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Retried>> {
        let retry = |source: &mut Source, key: &Key| source.change(key, |row| row.retry(now), |_| false);
        answer(self.each(source, keys, retry, || Retried::NotDemanded))
    }

    fn claim<'a>(
        &'a self,
        source: &'a SourceName,
        limit: usize,
        terms: &'a Terms,
    ) -> StoreFuture<'a, Claims> {
        let claims = self.sources().get_mut(source).map(|source| source.claim(limit, terms));
        answer(claims.unwrap_or_default())
    }

    fn extend<'a>(
        &'a self,
        source: &'a SourceName,
        claims: &'a [Held],
        until: Stamp,
    ) -> StoreFuture<'a, Vec<Extended>> {
        let extend = |source: &mut Source, claim: &Held| {
            source.change(&claim.key, |row| row.extend(claim.token, until), |_| false)
        };
        answer(self.each(source, claims, extend, || Extended::Stale))
    }

    fn finish<'a>(
        &'a self,
        source: &'a SourceName,
        runs: &'a [Finish],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Finished>> {
        let gone = |did: &Finished| *did == Finished::Gone;
        let finish = |source: &mut Source, run: &Finish| {
            source.change(&run.key, |row| row.finish(run.token, run.outcome.clone(), now), gone)
        };
        answer(self.each(source, runs, finish, || Finished::Stale))
    }

    fn mend<'a>(&'a self, source: &'a SourceName, bounds: &'a Bounds) -> StoreFuture<'a, u64> {
        answer(self.sources().get_mut(source).map_or(0, |source| source.mend(bounds)))
    }

    fn next<'a>(&'a self, sources: &'a [SourceName]) -> StoreFuture<'a, Vec<Option<Stamp>>> {
        let known = self.sources();
        answer(sources.iter().map(|source| known.get(source).and_then(Source::next)).collect())
    }

    fn tally<'a>(&'a self, sources: &'a [SourceName], now: Stamp) -> StoreFuture<'a, Vec<Tally>> {
        let known = self.sources();
        let tally = |source| known.get(source).map_or(Tally::new(), |source| source.tally(now));
        answer(sources.iter().map(tally).collect())
    }

    fn row<'a>(&'a self, source: &'a SourceName, key: &'a Key) -> StoreFuture<'a, Option<Row>> {
        answer(self.sources().get(source).and_then(|source| source.row(key)).cloned())
    }

    fn rows<'a>(&'a self, source: &'a SourceName, page: &'a Rows) -> StoreFuture<'a, Vec<Kept>> {
        answer(self.sources().get(source).map_or(Vec::new(), |source| source.page(page)))
    }
}

fn answer<'a, T: Send + 'a>(answer: T) -> StoreFuture<'a, T> {
    Box::pin(ready(Ok(answer)))
}
