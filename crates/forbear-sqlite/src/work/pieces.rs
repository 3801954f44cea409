//! What walks a whole source does so in pieces: between two of them the thread does what others ask for.

use forbear_core::store::{Kept, StoreError};
use forbear_core::work::{Bounds, SourceName, Stamp, Tally};
use rusqlite::Connection;

use super::look;
use super::sql::{self, FAILED, RUNNING, Ready, STALLED, WAITING};
use crate::SqliteStore;
use crate::row::stamp;

/// So many entries of the index are counted at once, which takes some 10 ms.
const COUNTED: usize = if cfg!(test) { 3 } else { 50_000 };
/// So many rows are looked at at once, which takes a few.
const LOOKED_AT: usize = if cfg!(test) { 3 } else { 10_000 };

/// What is counted, and from where on.
#[derive(Debug, Clone)]
enum Count {
    /// Rows of this phase that are ready after a place, up to a time.
    Ready(i64, Ready, i64),
    /// Rows of this phase that are never ready, after a key.
    Troubled(i64, String),
}

impl Count {
    fn ready(phase: i64, from: i64, to: Stamp) -> Self {
        Self::Ready(phase, (from, String::new()), stamp(to))
    }

    fn troubled(phase: i64) -> Self {
        Self::Troubled(phase, String::new())
    }

    /// A piece of it, and the rest.
    fn piece(self, connection: &Connection, source: i64) -> rusqlite::Result<(u64, Option<Self>)> {
        Ok(match self {
            Self::Ready(phase, from, to) => {
                let (count, last) = sql::count_ready(connection, (source, phase), (&from, to), COUNTED)?;
                (count, last.map(|last| Self::Ready(phase, last, to)))
            }
            Self::Troubled(phase, after) => {
                let (count, last) = sql::count_troubled(connection, (source, phase), &after, COUNTED)?;
                (count, last.map(|last| Self::Troubled(phase, last)))
            }
        })
    }
}

impl SqliteStore {
    pub(super) async fn tallied(&self, source: &SourceName, now: Stamp) -> Result<Tally, StoreError> {
        let name = source.clone();
        let next = self.work(move |connection| look::next(connection, &name)).await?;
        let due =
            [self.count(source, Count::ready(WAITING, -1, now)).await?, self.running(source, -1, now).await?];
        let after = stamp(now).saturating_add(1);
        let later = if stamp(now) == i64::MAX {
            [0, 0]
        } else {
            let waiting = self.count(source, Count::ready(WAITING, after, Stamp::NEVER)).await?;
            [waiting, self.running(source, after, Stamp::NEVER).await?]
        };
        let [waiting, running] = [0, 1].map(|at: usize| {
            let of = |counts: &[u64; 2]| counts.get(at).copied().unwrap_or(0);
            of(&due).saturating_add(of(&later))
        });
        Ok(Tally {
            waiting,
            running,
            failed: self.count(source, Count::troubled(FAILED)).await?,
            stalled: self.count(source, Count::troubled(STALLED)).await?,
            due: due.into_iter().sum(),
            oldest_due: next.filter(|next| *next <= now),
            next,
        })
    }

    async fn running(&self, source: &SourceName, from: i64, to: Stamp) -> Result<u64, StoreError> {
        self.count(source, Count::ready(RUNNING, from, to)).await
    }

    async fn count(&self, source: &SourceName, count: Count) -> Result<u64, StoreError> {
        let (mut total, mut rest) = (0_u64, Some(count));
        while let Some(count) = rest {
            let source = source.clone();
            let piece = self.work(move |connection| match sql::source(connection, &source)? {
                Some(source) => count.piece(connection, source),
                None => Ok((0, None)),
            });
            let (some, left) = piece.await?;
            total = total.saturating_add(some);
            rest = left;
        }
        Ok(total)
    }

    pub(super) async fn mended(&self, source: &SourceName, bounds: Bounds) -> Result<u64, StoreError> {
        let (mut total, mut from) = (0_u64, Some(String::new()));
        while let Some(after) = from {
            let source = source.clone();
            let (some, last) =
                self.work(move |connection| mend(connection, &source, &bounds, &after)).await?;
            total = total.saturating_add(some);
            from = last;
        }
        Ok(total)
    }
}

/// Mends the rows of a piece: how many, and where it ends.
fn mend(
    connection: &Connection,
    source: &SourceName,
    bounds: &Bounds,
    after: &str,
) -> rusqlite::Result<(u64, Option<String>)> {
    let Some(source) = sql::source(connection, source)? else { return Ok((0, None)) };
    let last = sql::key_after(connection, source, after, LOOKED_AT)?;
    let Bounds { now, rest, due, lease } = *bounds;
    let limits =
        [now.after(due), now.after(rest.min(due)), now.after(rest), now.after(lease), now].map(stamp);
    let mut mended: u64 = 0;
    for Kept { key, mut row } in
        look::rows(sql::too_far(connection, source, limits, (after, last.as_deref()))?)
    {
        let _ = row.mend(bounds);
        mended = mended.saturating_add(1);
        // Also where only the index did not agree with it.
        sql::update(connection, source, &key, &row)?;
    }
    Ok((mended, last))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use forbear_core::store::{Finish, WorkStore};
    use forbear_core::work::{DemandReason, Key, LastError, Outcome, Terms, Token};

    use super::*;

    fn at(seconds: u64) -> Stamp {
        Stamp::from_millis(seconds * 1_000)
    }

    fn source() -> SourceName {
        SourceName::new("quotes").unwrap()
    }

    async fn demand(store: &SqliteStore, keys: std::ops::Range<usize>, now: Stamp) {
        let keys: Vec<_> = keys.map(|n| Key::new(format!("{n:03}")).unwrap()).collect();
        store.demand(&source(), &keys, &DemandReason::new("page").unwrap(), now).await.unwrap();
    }

    /// So many are claimed, and end so.
    async fn end(store: &SqliteStore, keys: usize, outcome: Option<Outcome>) {
        let token = Token(7);
        let terms = Terms { now: at(10), lease: Duration::from_secs(60), token, max_attempts: 1 };
        let claims = store.claim(&source(), keys, &terms).await.unwrap();
        assert_eq!(claims.claimed.len(), keys);
        let runs = claims.claimed.into_iter().map(|kept| kept.key);
        let runs: Vec<_> = outcome
            .map(|outcome| runs.map(|key| Finish { key, token, outcome: outcome.clone() }).collect())
            .unwrap_or_default();
        store.finish(&source(), &runs, at(11)).await.unwrap();
    }

    #[tokio::test]
    async fn a_tally_of_many_pieces_is_exact() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("forbear.db")).unwrap();
        let error = LastError::new("status 500");
        let failed = Outcome::Failed { retry: at(0), earliest: at(0), max_attempts: 1, error: error.clone() };
        let stalled = Outcome::Deferred { until: at(0), stall: Duration::ZERO, error };
        demand(&store, 0..20, at(5)).await;
        end(&store, 7, Some(failed)).await;
        end(&store, 4, Some(stalled)).await;
        // Nine are left; of those that are claimed the lease is over at 70.
        end(&store, 5, None).await;
        demand(&store, 20..30, at(6)).await;
        demand(&store, 30..42, at(90)).await;
        for (now, due, oldest) in [
            (4, 0, None),
            (5, 4, Some(5)),
            (6, 14, Some(5)),
            (69, 14, Some(5)),
            (70, 19, Some(5)),
            (90, 31, Some(5)),
        ] {
            let tally = store.tally(&[source(), SourceName::new("nobody").unwrap()], at(now)).await.unwrap();
            let expected = Tally {
                waiting: 26,
                running: 5,
                failed: 7,
                stalled: 4,
                due,
                oldest_due: oldest.map(at),
                next: Some(at(5)),
            };
            assert_eq!(tally, [expected, Tally::new()], "at {now}");
        }
        let always = store.tally(&[source()], Stamp::NEVER).await.unwrap()[0];
        assert_eq!((always.waiting, always.running, always.due), (26, 5, 31));
    }

    #[tokio::test]
    async fn every_piece_is_mended() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("forbear.db")).unwrap();
        demand(&store, 0..20, at(1_000_000)).await;
        demand(&store, 20..25, at(5)).await;
        let bounds = Bounds {
            now: at(10),
            rest: Duration::from_secs(100),
            due: Duration::from_secs(500),
            lease: Duration::from_secs(60),
        };
        assert_eq!(store.mend(&source(), &bounds).await.unwrap(), 20);
        assert_eq!(store.mend(&source(), &bounds).await.unwrap(), 0);
        assert_eq!(store.tally(&[source()], at(110)).await.unwrap()[0].due, 25);
    }
}
