//! What an operator may do to a gate.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::time::Monotonic;

use super::engine::Gate;
use super::event::Event;
use super::state::{Cooldown, State};

/// A pause and since when it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) since: Monotonic,
}

static CLEARS: AtomicU64 = AtomicU64::new(0);

/// How often any gate of the process was cleared: whoever keeps deadlines beside the gates drops them when it changes.
#[must_use]
pub fn clears() -> u64 {
    CLEARS.load(Ordering::Acquire)
}

impl Gate {
    /// Forgets everything that was held against the family: a new epoch at level 0, in recovery without a known
    /// pace. Answers of the older epoch change nothing.
    pub fn clear(&self, now: Monotonic) -> Vec<Event> {
        let ((), events) = self.with(|state| state.clear(now));
        CLEARS.fetch_add(1, Ordering::AcqRel);
        events
    }

    /// Refuses everybody at once until [`Gate::resume`]; nobody waits for it.
    pub fn pause(&self, now: Monotonic) -> Vec<Event> {
        self.with(|state| {
            state.advance(now);
            state.pause = Some(Pause { since: now });
            state.wake_all(now);
        })
        .1
    }

    /// Ends a pause. A cool-down that began before goes on to its own deadline.
    pub fn resume(&self, now: Monotonic) -> Vec<Event> {
        self.with(|state| {
            state.pause = None;
            state.advance(now);
        })
        .1
    }
}

impl State {
    fn clear(&mut self, now: Monotonic) {
        self.advance(now);
        self.epoch = self.epoch.wrapping_add(1);
        self.generation = self.generation.wrapping_add(1);
        self.counted = 0;
        self.rung = 0;
        self.pace = None;
        self.informed = false;
        self.cooldown = Cooldown { from: now, until: now, ..Cooldown::default() };
        self.begin_recovery(now);
        self.wake_all(now);
    }
}
