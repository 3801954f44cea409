//! Refresh work in the file. What happens to a row is decided by its own functions; here it is found, changed and put back.

mod claim;
mod look;
mod pieces;
mod row;
mod sql;

use forbear_core::store::{Claims, Finish, Held, Kept, Rows, StoreFuture, WorkStore};
use forbear_core::work::{
    Bounds, DemandReason, Demanded, Extended, Finished, Invalidated, Key, Retried, Row, SourceName, Stamp,
    Tally, Terms, Undemanded,
};
use rusqlite::Connection;

use crate::SqliteStore;

pub(crate) use sql::prepare;

/// Changes the rows of `keys`, one after the other; `None` where there is no such row.
fn each<A, T>(
    connection: &Connection,
    source: &SourceName,
    all: &[A],
    key: impl Fn(&A) -> &Key,
    mut change: impl FnMut(&A, &mut Row) -> T,
    gone: impl Fn(&T) -> bool,
) -> rusqlite::Result<Vec<Option<T>>> {
    let Some(source) = sql::source(connection, source)? else {
        return Ok(all.iter().map(|_| None).collect());
    };
    let mut did = Vec::with_capacity(all.len());
    for one in all {
        let key = key(one);
        let Some(before) = sql::find(connection, source, key)? else {
            did.push(None);
            continue;
        };
        let mut row = before.clone();
        let done = change(one, &mut row);
        if gone(&done) {
            sql::delete(connection, source, key)?;
        } else if row != before {
            sql::update(connection, source, key, &row)?;
        }
        did.push(Some(done));
    }
    Ok(did)
}

fn demand(
    connection: &Connection,
    source: &SourceName,
    keys: &[Key],
    reason: &DemandReason,
    now: Stamp,
) -> rusqlite::Result<Vec<Demanded>> {
    let source = sql::source_made(connection, source)?;
    let mut did = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(before) = sql::find(connection, source, key)? else {
            sql::insert(connection, source, key, &Row::new(reason, now))?;
            did.push(Demanded::New);
            continue;
        };
        let mut row = before.clone();
        did.push(row.demand(reason, now));
        if row != before {
            sql::update(connection, source, key, &row)?;
        }
    }
    Ok(did)
}

fn or<T>(did: Vec<Option<T>>, none: impl Fn() -> T) -> Vec<T> {
    did.into_iter().map(|did| did.unwrap_or_else(&none)).collect()
}

impl WorkStore for SqliteStore {
    fn demand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Demanded>> {
        let (source, keys, reason) = (source.clone(), keys.to_vec(), reason.clone());
        Box::pin(self.work(move |connection| demand(connection, &source, &keys, &reason, now)))
    }

    fn undemand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
    ) -> StoreFuture<'a, Vec<Undemanded>> {
        let (source, keys, reason) = (source.clone(), keys.to_vec(), reason.clone());
        Box::pin(self.work(move |connection| {
            let change = |_: &Key, row: &mut Row| row.undemand(&reason);
            let did = each(connection, &source, &keys, |key| key, change, |did| *did == Undemanded::Gone)?;
            Ok(or(did, || Undemanded::NotDemanded))
        }))
    }

    fn invalidate<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Invalidated>> {
        let (source, keys) = (source.clone(), keys.to_vec());
        Box::pin(self.work(move |connection| {
            let change = |_: &Key, row: &mut Row| row.invalidate(now);
            let did = each(connection, &source, &keys, |key| key, change, |_| false)?;
            Ok(or(did, || Invalidated::NotDemanded))
        }))
    }

    fn retry<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Retried>> {
        let (source, keys) = (source.clone(), keys.to_vec());
        Box::pin(self.work(move |connection| {
            let change = |_: &Key, row: &mut Row| row.retry(now);
            let did = each(connection, &source, &keys, |key| key, change, |_| false)?;
            Ok(or(did, || Retried::NotDemanded))
        }))
    }

    fn claim<'a>(
        &'a self,
        source: &'a SourceName,
        limit: usize,
        terms: &'a Terms,
    ) -> StoreFuture<'a, Claims> {
        let (source, terms) = (source.clone(), *terms);
        Box::pin(self.work(move |connection| claim::claim(connection, &source, limit, &terms)))
    }

    fn extend<'a>(
        &'a self,
        source: &'a SourceName,
        claims: &'a [Held],
        until: Stamp,
    ) -> StoreFuture<'a, Vec<Extended>> {
        let (source, claims) = (source.clone(), claims.to_vec());
        Box::pin(self.work(move |connection| {
            let change = |claim: &Held, row: &mut Row| row.extend(claim.token, until);
            let did = each(connection, &source, &claims, |claim| &claim.key, change, |_| false)?;
            Ok(or(did, || Extended::Stale))
        }))
    }

    fn finish<'a>(
        &'a self,
        source: &'a SourceName,
        runs: &'a [Finish],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Finished>> {
        let (source, runs) = (source.clone(), runs.to_vec());
        Box::pin(self.work(move |connection| {
            let change = |run: &Finish, row: &mut Row| row.finish(run.token, run.outcome.clone(), now);
            let did = each(connection, &source, &runs, |run| &run.key, change, |did| *did == Finished::Gone)?;
            Ok(or(did, || Finished::Stale))
        }))
    }

    fn mend<'a>(&'a self, source: &'a SourceName, bounds: &'a Bounds) -> StoreFuture<'a, u64> {
        Box::pin(self.mended(source, *bounds))
    }

    fn next<'a>(&'a self, sources: &'a [SourceName]) -> StoreFuture<'a, Vec<Option<Stamp>>> {
        let sources = sources.to_vec();
        Box::pin(
            self.work(move |connection| {
                sources.iter().map(|source| look::next(connection, source)).collect()
            }),
        )
    }

    fn tally<'a>(&'a self, sources: &'a [SourceName], now: Stamp) -> StoreFuture<'a, Vec<Tally>> {
        Box::pin(async move {
            let mut tallies = Vec::with_capacity(sources.len());
            for source in sources {
                tallies.push(self.tallied(source, now).await?);
            }
            Ok(tallies)
        })
    }

    fn row<'a>(&'a self, source: &'a SourceName, key: &'a Key) -> StoreFuture<'a, Option<Row>> {
        let (source, key) = (source.clone(), key.clone());
        Box::pin(self.work(move |connection| match sql::source(connection, &source)? {
            Some(source) => sql::find(connection, source, &key),
            None => Ok(None),
        }))
    }

    fn rows<'a>(&'a self, source: &'a SourceName, page: &'a Rows) -> StoreFuture<'a, Vec<Kept>> {
        let (source, page) = (source.clone(), page.clone());
        Box::pin(self.work(move |connection| look::page(connection, &source, &page)))
    }
}
