//! What another holder of the same family decided.

use std::sync::Arc;
use std::time::Duration;

use crate::time::Monotonic;

use super::decision::Struck;
use super::engine::Gate;
use super::event::Event;
use super::state::{Cooldown, Phase, State};

/// A gate's standing as it travels between replicas and to disk. Only remaining time travels, never a wall clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// Raised by an operator's clear: a higher one replaces everything.
    pub epoch: u32,
    /// Raised by every strike: a higher one is newer.
    pub generation: u32,
    /// The level it was decided at.
    pub level: u8,
    /// The length of the cool-down from strike to deadline.
    pub length: Duration,
    /// What is left of it; zero where it is over.
    pub remaining: Duration,
    /// The learned pace, in attempts per second.
    pub pace: Option<f64>,
    /// What closed the gate.
    pub struck: Option<Arc<Struck>>,
}

/// What a merged transition changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merged {
    /// It was older, or said what is known.
    Unchanged,
    /// A newer generation, or a newer epoch, was taken over.
    Taken,
    /// The running cool-down became longer.
    Extended,
}

impl Gate {
    /// What another replica needs to know of this gate.
    #[must_use]
    pub fn transition(&self, now: Monotonic) -> Transition {
        let state = self.lock();
        Transition {
            epoch: state.epoch,
            generation: state.generation,
            level: state.level(now),
            length: state.cooldown.length(),
            remaining: state.cooldown.until.since(now),
            pace: state.pace,
            struck: state.cooldown.struck.clone(),
        }
    }

    /// Takes in what another replica decided. Within an epoch deadlines merge by maximum; a higher epoch replaces the
    /// whole.
    pub fn merge(&self, other: &Transition, now: Monotonic) -> (Merged, Vec<Event>) {
        self.with(|state| {
            state.advance(now);
            state.merge(other, now)
        })
    }
}

impl State {
    fn merge(&mut self, other: &Transition, now: Monotonic) -> Merged {
        let until = now.after(other.remaining.min(other.length).min(self.settings.max_advertised));
        let running = matches!(self.phase, Phase::Cooling);
        let cleared = other.epoch > self.epoch && other.length.is_zero();
        if (other.epoch, other.generation) > (self.epoch, self.generation) {
            let until =
                if running && other.epoch == self.epoch { until.max(self.cooldown.until) } else { until };
            self.take(other, until, now);
            if cleared && !matches!(self.phase, Phase::Open) {
                self.begin_recovery(now);
            }
            return Merged::Taken;
        }
        if other.epoch < self.epoch || !running || until <= self.cooldown.until {
            return Merged::Unchanged;
        }
        self.extend_to(until, now);
        Merged::Extended
    }

    fn take(&mut self, other: &Transition, until: Monotonic, now: Monotonic) {
        (self.epoch, self.generation) = (other.epoch, other.generation);
        self.counted = 0;
        self.set_level(other.level);
        self.pace = other.pace.filter(|pace| pace.is_normal() && *pace > 0.0);
        let length = other.length.min(self.settings.max_advertised).max(until.since(now));
        let from = until.before(length);
        // The other's clock has another origin: here the signal is as old as the cool-down that it began.
        let here = |struck: &Arc<Struck>| Arc::new(Struck { at: from, ..Struck::clone(struck) });
        self.cooldown = Cooldown {
            from,
            until,
            advertised: other.struck.as_ref().is_some_and(|struck| struck.signal.delay.is_some()),
            struck: other.struck.as_ref().map(here),
            by: None,
        };
        self.since = now;
        self.unserved_since = self.unserved_since.or((until > now).then_some(from));
        self.lease = None;
        self.fruitless = 0;
        self.grants.clear();
        self.probe_from = until;
        self.recheck_from = self.settings.recheck.map_or(until, |every| now.after(every));
        if until > now {
            self.phase = Phase::Cooling;
            self.queue.lull_all();
        } else if matches!(self.phase, Phase::Cooling | Phase::Probing) {
            self.phase = Phase::Probing;
        }
        self.wake_all(now);
    }
}
