//! What keeps refresh work.

use std::fmt;

use super::StoreFuture;
use crate::work::{
    Bounds, DemandReason, Demanded, Extended, Finished, Invalidated, Key, Outcome, Retried, Row, SourceName,
    Stamp, Tally, Terms, Token, Undemanded,
};

/// Keeps [rows](Row), each under its source and key.
///
/// Every call but [`mend`](Self::mend) and [`tally`](Self::tally) is one transaction: all of it is done, or, where it answers an error, nothing (as far as anybody can know, see
/// [`StoreError`](super::StoreError)). A row is changed by its own functions alone, and removed where they say `Gone`.
/// Answers are in the order of what was asked for; a key that is named twice in a call is met twice. Concurrent calls, of
/// other processes too, are as if one came after the other.
///
/// `forbear-mock` has a suite that every implementation must pass, by its feature `conformance`.
///
/// **Cancellation.** A future that is dropped may have done all that was asked for, or nothing.
pub trait WorkStore: fmt::Debug + Send + Sync + 'static {
    /// `keys` are wanted: [`Row::demand`], or a new row. [`Demanded::Full`] where there is no room for one.
    fn demand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Demanded>>;

    /// `keys` are not wanted any more for this reason: [`Row::undemand`].
    fn undemand<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        reason: &'a DemandReason,
    ) -> StoreFuture<'a, Vec<Undemanded>>;

    /// What was fetched for `keys` is known to be old: [`Row::invalidate`].
    fn invalidate<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Invalidated>>;

    /// Somebody wants to see `keys` tried: [`Row::retry`].
    fn retry<'a>(
        &'a self,
        source: &'a SourceName,
        keys: &'a [Key],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Retried>>;

    /// Claims at most `limit` keys that are [ready](Row::ready), those that were ready first before others, of equal ones
    /// by key: [`Row::claim`]. Rows whose claim fails or ends them are dealt with on the way and count against no limit
    /// but that of the work done in one call, which a store may set; then it answers fewer, and `more`.
    fn claim<'a>(&'a self, source: &'a SourceName, limit: usize, terms: &'a Terms)
    -> StoreFuture<'a, Claims>;

    /// Claims need longer leases, which are over at `until`: [`Row::extend`].
    fn extend<'a>(
        &'a self,
        source: &'a SourceName,
        claims: &'a [Held],
        until: Stamp,
    ) -> StoreFuture<'a, Vec<Extended>>;

    /// Runs are over: [`Row::finish`].
    fn finish<'a>(
        &'a self,
        source: &'a SourceName,
        runs: &'a [Finish],
        now: Stamp,
    ) -> StoreFuture<'a, Vec<Finished>>;

    /// Mends every row whose times lie too far ahead: [`Row::mend`]. How many there were. Done when a program starts, and
    /// when its wall clock was set back. It may look at every row: other calls are not to wait for all of that, so it need not be
    /// one transaction.
    fn mend<'a>(&'a self, source: &'a SourceName, bounds: &'a Bounds) -> StoreFuture<'a, u64>;

    /// When the first key of each source is [ready](Row::ready); `None` where nothing happens by itself.
    fn next<'a>(&'a self, sources: &'a [SourceName]) -> StoreFuture<'a, Vec<Option<Stamp>>>;

    /// How many keys of each source stand where, for health: it may take longer than the other calls, which do not wait for all of
    /// it, and count what changes meanwhile before or after that.
    fn tally<'a>(&'a self, sources: &'a [SourceName], now: Stamp) -> StoreFuture<'a, Vec<Tally>>;

    /// One row; `None` where there is none.
    fn row<'a>(&'a self, source: &'a SourceName, key: &'a Key) -> StoreFuture<'a, Option<Row>>;

    /// Rows of a source in the order of their keys, a page of them.
    fn rows<'a>(&'a self, source: &'a SourceName, page: &'a Rows) -> StoreFuture<'a, Vec<Kept>>;
}

/// What was claimed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// Keys, and their rows as they are now.
    pub claimed: Vec<Kept>,
    /// How many of these were claimed before, with a lease that is over.
    pub reclaimed: u64,
    /// Keys that failed instead, since a lease was over once too often.
    pub failed: Vec<Key>,
    /// Whether the store stopped before it had looked at enough.
    pub more: bool,
}

/// A key with its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The key.
    pub key: Key,
    /// What is known of it.
    pub row: Row,
}

/// A claim that somebody holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The key.
    pub key: Key,
    /// Whose claim it is.
    pub token: Token,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// The key.
    pub key: Key,
    /// Whose claim it was.
    pub token: Token,
    /// How it ended.
    pub outcome: Outcome,
}

/// Which rows to look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Only those that have failed or stalled.
    pub troubled: bool,
    /// Only keys after this one.
    pub after: Option<Key>,
    /// At most so many.
    pub limit: usize,
}
