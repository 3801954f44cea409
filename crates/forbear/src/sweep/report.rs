//! What came of all items.

use std::fmt;
use std::time::Duration;

use forbear_core::health::Short;
use tokio::time::Instant;

use super::outcome::{Deferred, Done, Failed, Outcome};
use crate::clock;

/// What came of the items of a sweep, each list in the order in which it was known.
#[derive(Debug)]
pub struct Report<T, R> {
    done: Vec<Done<T, R>>,
    deferred: Vec<Deferred<T>>,
    failed: Vec<Failed<T>>,
    complete: bool,
}

impl<T, R> Report<T, R> {
    /// Of nothing yet, for [`Sweep::run_into`](super::Sweep::run_into).
    #[must_use]
    pub const fn new() -> Self {
        Self { done: Vec::new(), deferred: Vec::new(), failed: Vec::new(), complete: false }
    }

    /// What was answered.
    #[must_use]
    pub fn done(&self) -> &[Done<T, R>] {
        &self.done
    }

    /// What is to be sent later.
    #[must_use]
    pub fn deferred(&self) -> &[Deferred<T>] {
        &self.deferred
    }

    /// What could not be sent, or was not answered.
    #[must_use]
    pub fn failed(&self) -> &[Failed<T>] {
        &self.failed
    }

    /// Whether the sweep came to the end of its items. False where its budget ended before that and nobody knew how many
    /// more there were, and where it was dropped or stopped on the way: what is missing here was never taken, or was on its way.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// When the first of what was deferred may be sent; `None` where nobody knows, or nothing was.
    #[must_use]
    pub fn retry_at(&self) -> Option<Instant> {
        self.deferred.iter().filter_map(Deferred::known).min().map(clock::to_instant)
    }

    /// How long from now until the first of what was deferred may be sent, zero where that has passed.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        let at = self.deferred.iter().filter_map(Deferred::known).min()?;
        Some(at.since(clock::now()))
    }

    /// Takes what was answered out of it.
    #[must_use]
    pub fn take_done(&mut self) -> Vec<Done<T, R>> {
        std::mem::take(&mut self.done)
    }

    /// Takes out of it what is to be sent later.
    #[must_use]
    pub fn take_deferred(&mut self) -> Vec<Deferred<T>> {
        std::mem::take(&mut self.deferred)
    }

    /// Takes out of it what could not be sent, or was not answered.
    #[must_use]
    pub fn take_failed(&mut self) -> Vec<Failed<T>> {
        std::mem::take(&mut self.failed)
    }

    pub(super) fn add(&mut self, outcome: Outcome<T, R>) {
        match outcome {
            Outcome::Done(done) => self.done.push(done),
            Outcome::Deferred(deferred) => self.deferred.push(deferred),
            Outcome::Failed(failed) => self.failed.push(failed),
        }
    }

    pub(super) const fn completes(&mut self, complete: bool) {
        self.complete = complete;
    }
}

impl<T, R> Default for Report<T, R> {
    fn default() -> Self {
        Self::new()
    }
}

/// `38 done, 2 deferred (retry in 4m58s), 0 failed`.
impl<T, R> fmt::Display for Report<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} done, {} deferred", self.done.len(), self.deferred.len())?;
        if let Some(left) = self.retry_in() {
            write!(f, " (retry in {})", Short(left))?;
        }
        write!(f, ", {} failed", self.failed.len())?;
        if self.complete { Ok(()) } else { f.write_str(", not complete") }
    }
}
