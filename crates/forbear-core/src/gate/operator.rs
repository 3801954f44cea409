//! What an operator may do to a gate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::signal::clean;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::of_the_process;
use crate::time::Monotonic;

use super::dead_route::Routes;
use super::engine::Gate;
use super::event::Event;
use super::state::{Cooldown, State};

/// Who acts on a gate, and why: shown in health, events and refusals. Both without control characters; cut at 64 and
/// 200 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operator {
    who: Box<str>,
    why: Box<str>,
}

/// What an operator did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Act {
    /// Closed the gate for so long.
    Cool(Duration),
    /// Forgot everything that was held against the family.
    Clear,
    /// Refuses everybody until resumed.
    Pause,
    /// Ended a pause.
    Resume,
}

/// An act, by whom, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acted {
    /// What was done.
    pub act: Act,
    /// Who did it, and why.
    pub by: Operator,
    /// When.
    pub at: Monotonic,
}

impl Operator {
    /// `who` in `why`'s words: `Operator::new("alice", "vendor asked by mail")`.
    #[must_use]
    pub fn new(who: &str, why: &str) -> Self {
        Self { who: clean(who, 64).into(), why: clean(why, 200).into() }
    }

    /// Who acts.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.who
    }

    /// Why.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }
}

/// `alice: vendor asked by mail`.
impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.who.is_empty() { "an operator" } else { &self.who };
        if self.why.is_empty() { f.write_str(who) } else { write!(f, "{who}: {}", self.why) }
    }
}

impl Act {
    /// The word for it in events and health.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Cool(_) => "cool",
            Self::Clear => "clear",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

of_the_process! {
    static CLEARS: AtomicU64 = AtomicU64::new(0);
}

/// How often any gate of the process was cleared: whoever keeps deadlines beside the gates drops them when it changes.
#[must_use]
pub fn clears() -> u64 {
    CLEARS.load(Ordering::Acquire)
}

impl Gate {
    /// Closes the gate for `duration`, as a signal does, but at the level where it stands: a probe and a recovery
    /// follow. A cool-down that runs longer goes on to its own deadline.
    pub fn cool(&self, duration: Duration, by: Operator, now: Monotonic) -> Vec<Event> {
        self.act(Act::Cool(duration), by, now, |state, acted| state.cool(duration, acted, now))
    }

    /// Forgets everything that was held against the family: a new epoch at level 0, in recovery without a known
    /// pace. Answers of the older epoch change nothing. A pause goes on.
    pub fn clear(&self, by: Operator, now: Monotonic) -> Vec<Event> {
        for partition in self.partitions() {
            let _ = partition.act(Act::Clear, by.clone(), now, |state, _| state.clear(now));
        }
        let events = self.act(Act::Clear, by, now, |state, _| state.clear(now));
        CLEARS.fetch_add(1, Ordering::AcqRel);
        events
    }

    /// Refuses everybody at once until [`Gate::resume`]; nobody waits for it, nor for a part of it.
    pub fn pause(&self, by: Operator, now: Monotonic) -> Vec<Event> {
        let events = self.act(Act::Pause, by, now, |state, acted| {
            state.pause.set(Some(Arc::clone(acted)));
            state.wake_all(now);
        });
        self.tell_parts(now);
        self.empty_pacing();
        events
    }

    /// Ends a pause. A cool-down that began before goes on to its own deadline.
    pub fn resume(&self, by: Operator, now: Monotonic) -> Vec<Event> {
        let events = self.act(Act::Resume, by, now, |state, _| {
            state.pause.set(None);
            state.advance(now);
        });
        self.tell_parts(now);
        events
    }

    /// The pause that the parts share changed: who waits for one looks again, and so does the happy path.
    pub(super) fn tell_parts(&self, now: Monotonic) {
        for part in self.partitions() {
            let _ = part.with(|state| state.wake_all(now));
        }
    }

    /// Is paused as `other` is, where it is not paused itself.
    pub(super) fn take_pause(&self, other: &Self, now: Monotonic) {
        let Some(pause) = other.lock().pause.shown() else { return };
        let _ = self.with(|state| {
            if !state.pause.is_on() {
                state.acted = Some(Arc::clone(&pause));
                state.pause.set(Some(pause));
                state.wake_all(now);
            }
        });
        self.tell_parts(now);
        self.empty_pacing();
    }

    fn act(
        &self,
        act: Act,
        by: Operator,
        now: Monotonic,
        change: impl FnOnce(&mut State, &Arc<Acted>),
    ) -> Vec<Event> {
        self.with(|state| {
            state.advance(now);
            let acted = Arc::new(Acted { act, by, at: now });
            state.events.push(Event::Operator(Arc::clone(&acted)));
            state.acted = Some(Arc::clone(&acted));
            change(state, &acted);
        })
        .1
    }
}

impl State {
    fn cool(&mut self, duration: Duration, acted: &Arc<Acted>, now: Monotonic) {
        let until = now.after(duration);
        if matches!(self.phase, super::state::Phase::Cooling) {
            if until > self.cooldown.until {
                self.extend_to(until, now);
                self.cooldown.by = Some(Arc::clone(acted));
                // Nor is it rechecked any more: that is for what a vendor advertises.
                self.cooldown.advertised = false;
            }
            return;
        }
        // Quiet time ends here; what it took off stays off.
        let level = self.level(now);
        self.set_level(level);
        let struck = self.cooldown.struck.clone();
        let by = Some(Arc::clone(acted));
        self.begin_cooldown(Cooldown { from: now, until, advertised: false, struck, by }, now);
    }

    fn clear(&mut self, now: Monotonic) {
        self.routes = Routes::default();
        self.forgive(now);
    }

    /// A new epoch at level 0, in recovery without a known pace.
    pub(super) fn forgive(&mut self, now: Monotonic) {
        self.epoch = self.epoch.wrapping_add(1);
        self.generation = self.generation.wrapping_add(1);
        self.counted = 0;
        self.rung = 0;
        self.pace = None;
        self.informed = false;
        self.cooldown = Cooldown { from: now, ..Cooldown::default() };
        self.begin_recovery(now);
        self.wake_all(now);
    }
}
