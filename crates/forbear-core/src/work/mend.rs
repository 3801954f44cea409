//! Times that no clock can have meant: a wall clock was wrong when they were written, or is now.

use std::time::Duration;

use super::row::{Phase, Row};
use super::stamp::Stamp;

/// How far ahead of `now` a time may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The time.
    pub now: Stamp,
    /// The furthest that a key is due ahead which neither failed nor was deferred since it was done: its interval.
    pub rest: Duration,
    /// The furthest that any key is due ahead.
    pub due: Duration,
    /// The longest lease.
    pub lease: Duration,
}

/// What was mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Mended {
    /// Nothing was wrong.
    Fine,
    /// A time was too far ahead, and is now as far as it may be.
    Mended,
}

impl Row {
    /// Brings back times that lie further ahead than they may.
    pub fn mend(&mut self, bounds: &Bounds) -> Mended {
        if !self.lies_ahead(bounds) {
            return Mended::Fine;
        }
        let Bounds { now, rest, lease, .. } = *bounds;
        self.due = self.due.min(self.furthest(bounds));
        self.earliest = self.earliest.min(now.after(rest));
        self.deferred_since = self.deferred_since.map(|since| since.min(now));
        self.done = self.done.map(|done| done.min(now));
        if let Phase::Running(claim) = &mut self.phase {
            claim.until = claim.until.min(now.after(lease));
        }
        Mended::Mended
    }

    /// When it is due at the latest.
    fn furthest(&self, bounds: &Bounds) -> Stamp {
        let Bounds { now, rest, due, .. } = *bounds;
        let rests = self.attempts == 0 && self.deferrals == 0;
        now.after(if rests { rest.min(due) } else { due })
    }

    /// Whether any of its times lies further ahead than it may.
    #[must_use]
    pub fn lies_ahead(&self, bounds: &Bounds) -> bool {
        let Bounds { now, rest, lease, .. } = *bounds;
        let claimed = matches!(self.phase, Phase::Running(claim) if claim.until > now.after(lease));
        let ahead = |time: Option<Stamp>| time.is_some_and(|time| time > now);
        self.due > self.furthest(bounds)
            || self.earliest > now.after(rest)
            || claimed
            || ahead(self.deferred_since)
            || ahead(self.done)
    }
}
