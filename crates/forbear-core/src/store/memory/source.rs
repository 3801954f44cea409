use std::collections::{BTreeMap, BTreeSet};

use crate::store::{Claims, Kept, Rows};
use crate::work::{Bounds, Claimed, Key, Phase, Row, Stamp, Tally, Terms};

/// The rows of one source, and what they are found by.
#[derive(Debug, Default)]
pub(super) struct Source {
    rows: BTreeMap<Key, Row>,
    ready: BTreeSet<(Stamp, Key)>,
    troubled: BTreeSet<Key>,
    running: u64,
    failed: u64,
    stalled: u64,
}

impl Source {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn row(&self, key: &Key) -> Option<&Row> {
        self.rows.get(key)
    }

    pub(super) fn add(&mut self, key: &Key, row: Row) {
        self.enter(key, &row);
        self.rows.insert(key.clone(), row);
    }

    /// Changes a row, where there is one; `gone` tells from what its change answered whether that was its end.
    pub(super) fn change<T>(
        &mut self,
        key: &Key,
        change: impl FnOnce(&mut Row) -> T,
        gone: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let mut row = self.rows.remove(key)?;
        self.leave(key, &row);
        let did = change(&mut row);
        if !gone(&did) {
            self.add(key, row);
        }
        Some(did)
    }

    pub(super) fn claim(&mut self, limit: usize, terms: &Terms) -> Claims {
        let mut claims = Claims::default();
        while claims.claimed.len() < limit {
            let Some((ready, key)) = self.ready.first().cloned() else { break };
            if ready > terms.now {
                break;
            }
            match self.change(&key, |row| row.claim(terms), |did| *did == Claimed::Gone) {
                Some(Claimed::Claimed { reclaimed }) => {
                    claims.reclaimed = claims.reclaimed.saturating_add(u64::from(reclaimed));
                    if let Some(row) = self.rows.get(&key) {
                        claims.claimed.push(Kept { key, row: row.clone() });
                    }
                }
                Some(Claimed::Failed) => claims.failed.push(key),
                Some(Claimed::Gone) => {}
                // By its own word it was ready.
                Some(Claimed::NotReady) | None => break,
            }
        }
        claims
    }

    pub(super) fn mend(&mut self, bounds: &Bounds) -> u64 {
        let ahead = self.rows.iter().filter(|(_, row)| row.lies_ahead(bounds));
        let keys: Vec<_> = ahead.map(|(key, _)| key.clone()).collect();
        for key in &keys {
            let _ = self.change(key, |row| row.mend(bounds), |_| false);
        }
        u64::try_from(keys.len()).unwrap_or(u64::MAX)
    }

    pub(super) fn next(&self) -> Option<Stamp> {
        self.ready.first().map(|(ready, _)| *ready)
    }

    pub(super) fn tally(&self, now: Stamp) -> Tally {
        let due = self.ready.iter().take_while(|(ready, _)| *ready <= now).count();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let others = self.running.saturating_add(self.failed).saturating_add(self.stalled);
        Tally {
            waiting: count(self.rows.len()).saturating_sub(others),
            running: self.running,
            failed: self.failed,
            stalled: self.stalled,
            due: count(due),
            oldest_due: self.next().filter(|next| *next <= now),
            next: self.next(),
        }
    }

    pub(super) fn page(&self, page: &Rows) -> Vec<Kept> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = page.after.as_ref().map_or(Unbounded, Excluded);
        let kept = |(key, row): (&Key, &Row)| Kept { key: key.clone(), row: row.clone() };
        if page.troubled {
            let rows = self.troubled.range((from, Unbounded)).filter_map(|key| self.rows.get_key_value(key));
            return rows.take(page.limit).map(kept).collect();
        }
        self.rows.range((from, Unbounded)).take(page.limit).map(kept).collect()
    }

    fn enter(&mut self, key: &Key, row: &Row) {
        if let Some(ready) = row.ready() {
            self.ready.insert((ready, key.clone()));
        } else {
            self.troubled.insert(key.clone());
        }
        if let Some(counter) = self.counter(row) {
            *counter = counter.saturating_add(1);
        }
    }

    fn leave(&mut self, key: &Key, row: &Row) {
        match row.ready() {
            Some(ready) => self.ready.remove(&(ready, key.clone())),
            None => self.troubled.remove(key),
        };
        if let Some(counter) = self.counter(row) {
            *counter = counter.saturating_sub(1);
        }
    }

    fn counter(&mut self, row: &Row) -> Option<&mut u64> {
        match row.phase {
            Phase::Waiting => None,
            Phase::Running(_) => Some(&mut self.running),
            Phase::Failed => Some(&mut self.failed),
            Phase::Stalled => Some(&mut self.stalled),
        }
    }
}
