//! What comes after a run.

use std::time::Duration;

use super::claim::Token;
use super::row::{LastError, Phase, Row};
use super::stamp::Stamp;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// What it fetched is stored.
    Done {
        /// When it is due next.
        next: Stamp,
        /// When it may be due next at the earliest, whoever demands it.
        earliest: Stamp,
    },
    /// It was refused, or its vendor said that it is too much. Costs no attempt.
    Deferred {
        /// When it is due again.
        until: Stamp,
        /// For how long it may be deferred in all, until it has stalled.
        stall: Duration,
        /// Why.
        error: LastError,
    },
    /// It failed. Costs an attempt.
    Failed {
        /// When it is due again.
        retry: Stamp,
        /// When it may be due again at the earliest, whoever demands it.
        earliest: Stamp,
        /// At how many failed attempts it has failed.
        max_attempts: u32,
        /// Why.
        error: LastError,
    },
    /// It was not run, and nothing is known: it is due as it was.
    Released,
}

/// What the end of a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Finished {
    /// It waits, and is due then.
    Waiting(Stamp),
    /// It was demanded or invalidated meanwhile: it is due once more, then.
    Again(Stamp),
    /// It failed as often as it may.
    Failed,
    /// It was deferred for as long as it may be.
    Stalled,
    /// Nobody wants it any more: the store removes its row.
    Gone,
    /// It was not the claimer's any more: nothing changed. Said by the store too, where there is no such row.
    Stale,
}

impl Row {
    /// Its run is over.
    pub fn finish(&mut self, token: Token, outcome: Outcome, now: Stamp) -> Finished {
        if !matches!(self.phase, Phase::Running(claim) if claim.token == token) {
            return Finished::Stale;
        }
        if self.reasons.is_empty() {
            return Finished::Gone;
        }
        self.phase = Phase::Waiting;
        let again = std::mem::take(&mut self.again);
        match outcome {
            Outcome::Done { next, earliest } => self.done((next, earliest), again, now),
            Outcome::Deferred { until, stall, error } => self.deferred((until, stall, error), again, now),
            Outcome::Failed { retry, earliest, max_attempts, error } => {
                (self.due, self.earliest, self.error) = (retry, earliest, Some(error));
                self.failed(max_attempts, again)
            }
            // Its next run meets what was demanded meanwhile.
            Outcome::Released => Finished::Waiting(self.due),
        }
    }

    fn done(&mut self, (next, earliest): (Stamp, Stamp), again: bool, now: Stamp) -> Finished {
        (self.attempts, self.deferrals, self.deferred_since) = (0, 0, None);
        (self.done, self.error) = (Some(now), None);
        self.earliest = earliest;
        if again {
            self.due = now.max(earliest);
            return Finished::Again(self.due);
        }
        self.due = next;
        Finished::Waiting(next)
    }

    fn deferred(
        &mut self,
        (until, stall, error): (Stamp, Duration, LastError),
        again: bool,
        now: Stamp,
    ) -> Finished {
        self.deferrals = self.deferrals.saturating_add(1);
        // A clock that was set back makes it no younger than now.
        let since = self.deferred_since.map_or(now, |since| since.min(now));
        (self.deferred_since, self.error) = (Some(since), Some(error));
        self.due = until;
        if now.since(since) < stall {
            return Finished::Waiting(until);
        }
        if again {
            // Somebody wanted it anew while it ran.
            (self.deferrals, self.deferred_since) = (1, Some(now));
            return Finished::Again(until);
        }
        self.phase = Phase::Stalled;
        Finished::Stalled
    }

    fn failed(&mut self, max_attempts: u32, again: bool) -> Finished {
        self.attempts = self.attempts.saturating_add(1);
        // Its vendor was reached, or could be.
        self.deferred_since = None;
        if self.attempts < max_attempts {
            return Finished::Waiting(self.due);
        }
        if again {
            // Somebody wanted it anew while it ran.
            self.attempts = 0;
            return Finished::Again(self.due);
        }
        self.phase = Phase::Failed;
        Finished::Failed
    }
}
