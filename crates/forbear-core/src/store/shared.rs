//! A store that a program shares is a store.

use std::sync::Arc;

use super::{Claims, Finish, Held, Kept, Rows, StoreFuture, WorkStore};
use crate::work::{
    Bounds, DemandReason, Demanded, Extended, Finished, Invalidated, Key, Retried, Row, SourceName, Stamp,
    Tally, Terms, Undemanded,
};

impl<S: WorkStore + ?Sized> WorkStore for Arc<S> {
    fn demand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Demanded>> {
        (**self).demand(source, keys, reason, now)
    }

    fn undemand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
    ) -> StoreFuture<'a, Vec<Undemanded>> {
        (**self).undemand(source, keys, reason)
    }

    fn invalidate<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Invalidated>> {
        (**self).invalidate(source, keys, now)
    }

    fn retry<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Retried>> {
        (**self).retry(source, keys, now)
    }

    fn claim<'a>(
        &'a self,
        source: &'a SourceName,
        limit: usize,
        terms: &'a Terms,
    ) -> StoreFuture<'a, Claims> {
        (**self).claim(source, limit, terms)
    }

    fn extend<'a>(
        &'a self,
        source: &'a SourceName,
        claims: &'a [Held],
        until: Stamp,
    ) -> StoreFuture<'a, Vec<Extended>> {
        (**self).extend(source, claims, until)
    }

    fn finish<'a>(
        &'a self,
        source: &'a SourceName,
        runs: &'a [Finish],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Finished>> {
        (**self).finish(source, runs, now)
    }

    fn mend<'a>(&'a self, source: &'a SourceName, bounds: &'a Bounds) -> StoreFuture<'a, u64> {
        (**self).mend(source, bounds)
    }

    fn next<'a>(&'a self, sources: &'a [SourceName]) -> StoreFuture<'a, Vec<Option<Stamp>>> {
        (**self).next(sources)
    }

    fn tally<'a>(&'a self, sources: &'a [SourceName], now: Stamp) -> StoreFuture<'a, Vec<Tally>> {
        (**self).tally(sources, now)
    }

    fn row<'a>(&'a self, source: &'a SourceName, key: &'a Key) -> StoreFuture<'a, Option<Row>> {
        (**self).row(source, key)
    }

    fn rows<'a>(&'a self, source: &'a SourceName, page: &'a Rows) -> StoreFuture<'a, Vec<Kept>> {
        (**self).rows(source, page)
    }
}
