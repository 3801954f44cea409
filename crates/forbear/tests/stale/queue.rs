//! A queue of a refresh that takes nothing: it hangs, or panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forbear_core::store::{Claims, Finish, Held, Kept, Rows, StoreFuture, WorkStore};
use forbear_core::work::{
    Bounds, DemandReason, Demanded, Extended, Finished, Invalidated, Key, Retried, Row, SourceName, Stamp,
    Tally, Terms, Undemanded,
};

/// Clones share how often they were asked.
#[derive(Debug, Clone)]
pub(crate) struct Stuck {
    pub(crate) panics: bool,
    asked: Arc<AtomicUsize>,
}

impl Stuck {
    pub(crate) fn new(panics: bool) -> Self {
        Self { panics, asked: Arc::default() }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn stuck<'a, T: Send + 'a>(&self) -> StoreFuture<'a, T> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics, "the queue panics");
        Box::pin(std::future::pending())
    }
}

/// Each of these is stuck.
macro_rules! stuck {
    ($($name:ident($($argument:ty),*) -> $told:ty;)*) => {
        $(fn $name<'a>(&'a self, $(_: $argument),*) -> StoreFuture<'a, $told> {
            self.stuck()
        })*
    };
}

impl WorkStore for Stuck {
    stuck! {
        demand(&'a SourceName, &'a [Key], &'a DemandReason, Stamp) -> Vec<Demanded>;
        undemand(&'a SourceName, &'a [Key], &'a DemandReason) -> Vec<Undemanded>;
        invalidate(&'a SourceName, &'a [Key], Stamp) -> Vec<Invalidated>;
        retry(&'a SourceName, &'a [Key], Stamp) -> Vec<Retried>;
        claim(&'a SourceName, usize, &'a Terms) -> Claims;
        extend(&'a SourceName, &'a [Held], Stamp) -> Vec<Extended>;
        finish(&'a SourceName, &'a [Finish], Stamp) -> Vec<Finished>;
        mend(&'a SourceName, &'a Bounds) -> u64;
        next(&'a [SourceName]) -> Vec<Option<Stamp>>;
        tally(&'a [SourceName], Stamp) -> Vec<Tally>;
        row(&'a SourceName, &'a Key) -> Option<Row>;
        rows(&'a SourceName, &'a Rows) -> Vec<Kept>;
    }
}
