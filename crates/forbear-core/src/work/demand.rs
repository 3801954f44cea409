//! Who wants a key, and what that does to it.

use super::names::DemandReason;
use super::row::{Phase, Row};
use super::stamp::Stamp;

/// What a demand did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Demanded {
    /// Nobody wanted it before: it is due now. Said by the store, which made the row with [`Row::new`].
    New,
    /// It waits, and runs when it is due.
    Waiting(Stamp),
    /// It runs, and will run once more.
    Again,
    /// It had failed or stalled: it is due then, with no attempt counted.
    Revived(Stamp),
    /// There is no room: for another key in its store, or for another reason of this key. Nothing changed.
    Full,
}

/// What the end of a demand did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Undemanded {
    /// It was not wanted for this reason. Said by the store too, where there is no such row.
    NotDemanded,
    /// It is still wanted for others.
    StillDemanded,
    /// Nobody wants it, but it runs: its row is gone with the end of that run.
    Ending,
    /// Nobody wants it: the store removes its row.
    Gone,
}

/// What an invalidation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Invalidated {
    /// Nobody demands it, so nobody refreshes it. Said by the store, where there is no such row, or only one that is
    /// ending.
    NotDemanded,
    /// It is due then, or was already.
    Due(Stamp),
    /// It runs, and will run once more.
    Again,
    /// It has failed or stalled, and that is not changed by this.
    Held,
}

/// What a retry by hand did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Retried {
    /// Nobody demands it. Said by the store, where there is no such row.
    NotDemanded,
    /// It is due then, with no attempt counted.
    Due(Stamp),
    /// It runs.
    Running,
}

impl Row {
    /// It is wanted, for one more reason or again for the same.
    pub fn demand(&mut self, reason: &DemandReason, now: Stamp) -> Demanded {
        if !self.reasons.add(reason) {
            return Demanded::Full;
        }
        match self.phase {
            Phase::Waiting => Demanded::Waiting(self.due),
            Phase::Running(_) => {
                self.again = true;
                Demanded::Again
            }
            Phase::Failed | Phase::Stalled => Demanded::Revived(self.revive(now)),
        }
    }

    /// It is not wanted any more for this reason.
    pub fn undemand(&mut self, reason: &DemandReason) -> Undemanded {
        if !self.reasons.drop(reason) {
            return Undemanded::NotDemanded;
        }
        match self.phase {
            _ if !self.reasons.is_empty() => Undemanded::StillDemanded,
            Phase::Running(_) => {
                self.again = false;
                Undemanded::Ending
            }
            Phase::Waiting | Phase::Failed | Phase::Stalled => Undemanded::Gone,
        }
    }

    /// What was fetched last is known to be old.
    pub fn invalidate(&mut self, now: Stamp) -> Invalidated {
        match self.phase {
            // One that is deferred, or failed before, waits for its vendor.
            Phase::Waiting if self.deferrals > 0 || self.attempts > 0 => Invalidated::Due(self.due),
            Phase::Waiting => {
                self.due = self.due.min(self.soonest(now));
                Invalidated::Due(self.due)
            }
            Phase::Running(_) if self.reasons.is_empty() => Invalidated::NotDemanded,
            Phase::Running(_) => {
                self.again = true;
                Invalidated::Again
            }
            Phase::Failed | Phase::Stalled => Invalidated::Held,
        }
    }

    /// Somebody wants to see it tried: what has failed or stalled, and what waits after a failure or a deferral.
    pub fn retry(&mut self, now: Stamp) -> Retried {
        match self.phase {
            Phase::Running(_) => Retried::Running,
            Phase::Failed | Phase::Stalled => Retried::Due(self.revive(now)),
            Phase::Waiting => {
                let due = self.due;
                self.revive(now);
                self.due = self.due.min(due);
                Retried::Due(self.due)
            }
        }
    }

    fn revive(&mut self, now: Stamp) -> Stamp {
        self.phase = Phase::Waiting;
        (self.attempts, self.deferrals, self.deferred_since) = (0, 0, None);
        self.due = self.soonest(now);
        self.due
    }

    fn soonest(&self, now: Stamp) -> Stamp {
        now.max(self.earliest)
    }
}
