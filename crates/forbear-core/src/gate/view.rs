use std::sync::Arc;
use std::time::Duration;

use crate::signal::Class;
use crate::time::Monotonic;

use super::decision::Struck;
use super::engine::Gate;
use super::operator::Acted;
use super::state;

/// Where a family stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// It is called freely.
    Open,
    /// It is not called.
    Cooling,
    /// One attempt is let through.
    Probing,
    /// It is called at a learned pace.
    Recovering,
    /// An operator paused it.
    Paused,
}

/// How closed a gate is; what lets less through is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closed {
    /// Not at all.
    Open,
    /// It lets callers through at a pace.
    Recovering,
    /// It lets one through.
    Probing,
    /// It lets nobody through before that time.
    Cooling(Monotonic),
}

/// What an operator is shown of a gate.
#[derive(Debug, Clone)]
pub struct View {
    /// Where it stands.
    pub phase: Phase,
    /// When the phase began; the origin where it was never another.
    pub since: Monotonic,
    /// Since when nothing was accepted, while the family is not called.
    pub unserved_since: Option<Monotonic>,
    /// When somebody asked last while it was not open, or closed it.
    pub asked: Monotonic,
    /// Whether the level is at the top of the ladder that its last signal is read by.
    pub top_rung: bool,
    /// Whether the vendor gave the delay of the last cool-down.
    pub advertised: bool,
    /// When the phase ends, where that is known.
    pub until: Option<Monotonic>,
    /// The level, 0 to 7.
    pub level: u8,
    /// The length of the last cool-down, from strike to deadline.
    pub cooldown: Duration,
    /// The class of the signal that began the last cool-down; `None` where an operator did.
    pub class: Option<Class>,
    /// The last strike of this epoch.
    pub struck: Option<Arc<Struck>>,
    /// Attempts per second that a recovering family is called at.
    pub pace: Option<f64>,
    /// What an operator did: that which holds, where one does, else what was done last.
    pub acted: Option<Arc<Acted>>,
    /// Whether it stands as it does because of that, and not because of its vendor.
    pub by_operator: bool,
    /// Callers that wait.
    pub waiting: usize,
    /// Attempts admitted.
    pub attempts: u64,
    /// Signals observed.
    pub signals: u64,
    /// Strikes: signals that closed the gate.
    pub strikes: u64,
    /// Refusals given.
    pub refusals: u64,
    /// Recoveries begun.
    pub recoveries: u64,
    /// Times good answers take: mean, mean deviation, number of answers measured.
    pub attempt_time: (Duration, Duration, u32),
}

impl Gate {
    /// What an operator is shown at `now`. Looking makes the changes that time brings, and may therefore bring events.
    #[must_use]
    pub fn view(&self, now: Monotonic) -> (View, Vec<super::Event>) {
        let (view, events) = self.with(|state| {
            state.advance(now);
            state.view(now)
        });
        (View { attempts: self.served(0, now).total, ..view }, events)
    }

    /// Whether an operator paused its family. Looks and changes nothing; an open one costs an atomic load.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        !self.is_open() && self.lock().pause.is_on()
    }

    /// How closed it is at `now`. Looks and changes nothing; an open one costs an atomic load.
    #[must_use]
    pub fn closed(&self, now: Monotonic) -> Closed {
        if self.is_open() {
            return Closed::Open;
        }
        let state = self.lock();
        match &state.phase {
            state::Phase::Cooling if now < state.cooldown.until => Closed::Cooling(state.cooldown.until),
            state::Phase::Cooling | state::Phase::Probing => Closed::Probing,
            state::Phase::Recovering(recovery) if !recovery.over(now) => Closed::Recovering,
            state::Phase::Recovering(_) | state::Phase::Open => Closed::Open,
        }
    }
}

impl state::State {
    fn view(&self, now: Monotonic) -> View {
        let pause = self.pause.shown();
        let (phase, pace) = match &self.phase {
            _ if pause.is_some() => (Phase::Paused, None),
            state::Phase::Open => (Phase::Open, None),
            state::Phase::Cooling => (Phase::Cooling, None),
            state::Phase::Probing => (Phase::Probing, None),
            state::Phase::Recovering(recovery) => (Phase::Recovering, Some(recovery.pace())),
        };
        let (signals, strikes, refusals) = self.totals.sums();
        let closed = matches!(phase, Phase::Cooling | Phase::Probing);
        let holds = pause.clone().or_else(|| self.cooldown.by.clone().filter(|_| closed));
        View {
            phase,
            since: pause.as_ref().map_or(self.since, |pause| pause.at),
            unserved_since: self.unserved_since,
            // Who waits asks all the while.
            asked: if self.queue.len() > 0 { now } else { self.asked },
            top_rung: self.at_top_rung(now),
            advertised: self.cooldown.advertised,
            until: if pause.is_some() { None } else { self.retry_at() },
            level: self.level(now),
            cooldown: self.cooldown.length(),
            class: self.cooldown.class(),
            struck: self.cooldown.struck.clone(),
            pace,
            by_operator: holds.is_some(),
            acted: holds.or_else(|| self.acted.clone()),
            waiting: self.queue.len(),
            attempts: 0,
            signals,
            strikes,
            refusals,
            recoveries: self.totals.recoveries,
            attempt_time: self.time.parts(),
        }
    }
}
