//! What is counted of a family's stored answers.

use std::sync::Arc;

use super::served::{Because, Served};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What was served of a family, and what is stored of it; written by everybody who serves, so nothing but numbers.
#[derive(Debug, Default)]
pub struct StaleCounts {
    fresh: AtomicU64,
    live: AtomicU64,
    fallbacks: AtomicU64,
    refused: AtomicU64,
    coalesced: AtomicU64,
    stored: AtomicU64,
    unstored: AtomicU64,
    stale: [AtomicU64; Because::ALL.len()],
    entries: AtomicU64,
    bytes: AtomicU64,
    warned: AtomicBool,
}

/// The same at one moment. All but what is stored now only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StaleTotals {
    /// Answers from what is stored that were as good as new.
    pub fresh: u64,
    /// Answers of the vendor, or confirmed by it, to requests for which what is stored was looked for.
    pub live: u64,
    /// Fallbacks.
    pub fallbacks: u64,
    /// Requests that got none of these: an error.
    pub refused: u64,
    /// Requests that waited for an attempt which somebody else had begun.
    pub coalesced: u64,
    /// Answers that were stored, or confirmed.
    pub stored: u64,
    /// Answers that may not be stored, or are too large, or broke off.
    pub unstored: u64,
    /// Answers that are stored now.
    pub entries: u64,
    /// How many bytes of memory those take, about.
    pub bytes: u64,
    stale: [u64; Because::ALL.len()],
}

/// Counts one answer as stored, for as long as it lives, or until it is [gone](Stored::gone).
#[derive(Debug)]
pub struct Stored {
    counts: Arc<StaleCounts>,
    bytes: u64,
    gone: AtomicBool,
}

fn one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl StaleCounts {
    /// Counts what was served.
    #[inline]
    pub fn served(&self, served: Served) {
        match served {
            Served::Fresh => one(&self.fresh),
            Served::Live => one(&self.live),
            Served::Stale { because, .. } => {
                if let Some(counter) = self.stale.get(because as usize) {
                    one(counter);
                }
            }
            Served::Fallback { .. } => one(&self.fallbacks),
        }
    }

    /// Counts a request that got nothing.
    pub fn refused(&self) {
        one(&self.refused);
    }

    /// Counts a request that waits for an attempt of somebody else.
    pub fn coalesced(&self) {
        one(&self.coalesced);
    }

    /// Counts an answer that is not stored.
    pub fn unstored(&self) {
        one(&self.unstored);
    }

    /// Counts an answer that is stored, and takes so many bytes of memory while what this returns lives.
    #[must_use]
    pub fn stored(self: &Arc<Self>, bytes: u64) -> Stored {
        one(&self.stored);
        self.held(bytes)
    }

    /// The same of one that was stored before, and is in memory again.
    #[must_use]
    pub fn held(self: &Arc<Self>, bytes: u64) -> Stored {
        one(&self.entries);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Stored { counts: Arc::clone(self), bytes, gone: AtomicBool::new(false) }
    }

    /// Whether this is the first time that somebody asks: for what is said once.
    pub fn is_news(&self) -> bool {
        !self.warned.swap(true, Ordering::Relaxed)
    }

    /// All of it now.
    #[must_use]
    pub fn totals(&self) -> StaleTotals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StaleTotals {
            fresh: read(&self.fresh),
            live: read(&self.live),
            fallbacks: read(&self.fallbacks),
            refused: read(&self.refused),
            coalesced: read(&self.coalesced),
            stored: read(&self.stored),
            unstored: read(&self.unstored),
            entries: read(&self.entries),
            bytes: read(&self.bytes),
            stale: std::array::from_fn(|at| self.stale.get(at).map(read).unwrap_or_default()),
        }
    }
}

impl Stored {
    /// It is stored no more, though somebody may hold it yet.
    pub fn gone(&self) {
        if !self.gone.swap(true, Ordering::Relaxed) {
            self.counts.entries.fetch_sub(1, Ordering::Relaxed);
            self.counts.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.gone();
    }
}

impl StaleTotals {
    /// Old answers that were served for this cause.
    #[must_use]
    pub fn because(&self, because: Because) -> u64 {
        self.stale.get(because as usize).copied().unwrap_or_default()
    }

    /// Old answers that were served.
    #[must_use]
    pub fn stale(&self) -> u64 {
        self.stale.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_kind_has_a_place_of_its_own_and_what_is_stored_is_given_back() {
        let counts = Arc::new(StaleCounts::default());
        for (because, times) in Because::ALL.into_iter().zip(1..) {
            (0..times).for_each(|_| counts.served(Served::Stale { age: Duration::ZERO, because }));
        }
        (0..2).for_each(|_| counts.served(Served::Fresh));
        (0..3).for_each(|_| counts.served(Served::Live));
        (0..4).for_each(|_| counts.served(Served::Fallback { because: Because::Cooling }));
        (0..5).for_each(|_| counts.refused());
        (0..6).for_each(|_| counts.coalesced());
        (0..7).for_each(|_| counts.unstored());
        let one = counts.stored(100);
        let other = counts.stored(20);
        let totals = counts.totals();
        assert_eq!(
            Because::ALL.map(|because| totals.because(because)),
            std::array::from_fn(|n| n as u64 + 1)
        );
        assert_eq!(totals.stale(), 78);
        assert_eq!((totals.fresh, totals.live, totals.fallbacks, totals.refused), (2, 3, 4, 5));
        assert_eq!((totals.coalesced, totals.unstored, totals.stored), (6, 7, 2));
        assert_eq!((totals.entries, totals.bytes), (2, 120));
        one.gone();
        assert_eq!((counts.totals().entries, counts.totals().bytes), (1, 20));
        drop(one);
        assert_eq!((counts.totals().entries, counts.totals().bytes), (1, 20));
        drop(other);
        assert_eq!((counts.totals().entries, counts.totals().bytes, counts.totals().stored), (0, 0, 2));
        assert!(counts.is_news() && !counts.is_news());
    }
}
