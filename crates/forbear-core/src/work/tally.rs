use serde::Serialize;

use super::row::{Phase, Row};
use super::stamp::Stamp;

/// How many keys of a source stand where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Keys that wait, due or not.
    pub waiting: u64,
    /// Keys that are claimed.
    pub running: u64,
    /// Keys that failed as often as they may.
    pub failed: u64,
    /// Keys that were deferred for as long as they may be.
    pub stalled: u64,
    /// Keys that could be claimed now: due, or with a lease that is over.
    pub due: u64,
    /// Since when the first of those could be.
    pub oldest_due: Option<Stamp>,
    /// When the next key can be claimed, of all.
    pub next: Option<Stamp>,
}

impl Tally {
    /// How a source without keys stands.
    #[must_use]
    pub const fn new() -> Self {
        Self { waiting: 0, running: 0, failed: 0, stalled: 0, due: 0, oldest_due: None, next: None }
    }

    /// Counts one row more.
    pub fn count(&mut self, row: &Row, now: Stamp) {
        let counter = match row.phase {
            Phase::Waiting => &mut self.waiting,
            Phase::Running(_) => &mut self.running,
            Phase::Failed => &mut self.failed,
            Phase::Stalled => &mut self.stalled,
        };
        *counter = counter.saturating_add(1);
        let Some(ready) = row.ready() else { return };
        self.next = Some(self.next.map_or(ready, |next| next.min(ready)));
        if ready <= now {
            self.due = self.due.saturating_add(1);
            self.oldest_due = self.next;
        }
    }
}
