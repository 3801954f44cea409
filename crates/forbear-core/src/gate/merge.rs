//! What another holder of the same family decided.

use std::sync::Arc;
use std::time::Duration;

use crate::time::Monotonic;

use super::decision::Struck;
use super::engine::Gate;
use super::event::Event;
use super::operator::{Act, Acted, Operator};
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
    /// The operator to whom the deadline is due, where it is not the vendor.
    pub by: Option<Operator>,
    /// Whether it is called freely. One that is not and does not cool any more is to be probed.
    pub open: bool,
    /// How long nobody knew of it after its cool-down: time that lowers the level, too. Zero but for what a store held.
    pub quiet: Duration,
}

/// An operator may close a gate for longer than a vendor may ask, but not for more than this where it is taken over.
const BY_OPERATOR: Duration = Duration::from_secs(366 * 24 * 60 * 60);

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
            by: state.cooldown.by.as_ref().map(|acted| acted.by.clone()),
            open: matches!(state.phase, Phase::Open),
            quiet: Duration::ZERO,
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
        let longest = other.by.as_ref().map_or(self.settings.max_advertised, |_| BY_OPERATOR);
        let until = now.after(other.remaining.min(other.length).min(longest));
        let running = matches!(self.phase, Phase::Cooling);
        let cleared = other.epoch > self.epoch && other.length.is_zero();
        if (other.epoch, other.generation) > (self.epoch, self.generation) {
            let until = match () {
                () if running && other.epoch == self.epoch => until.max(self.cooldown.until),
                () if other.remaining.is_zero() => now.before(other.quiet),
                () => until,
            };
            self.take(other, (until, longest), now);
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

    fn take(&mut self, other: &Transition, (until, longest): (Monotonic, Duration), now: Monotonic) {
        (self.epoch, self.generation) = (other.epoch, other.generation);
        self.counted = 0;
        self.set_level(other.level);
        self.pace = other.pace.filter(|pace| pace.is_normal() && *pace > 0.0);
        let length = other.length.min(longest).max(until.since(now));
        let from = until.before(length);
        // The other's clock has another origin: here the signal is as old as the cool-down that it began.
        let here = |struck: &Arc<Struck>| Arc::new(Struck { at: from, ..Struck::clone(struck) });
        self.cooldown = Cooldown {
            from,
            until,
            advertised: other.struck.as_ref().is_some_and(|struck| struck.signal.delay.is_some()),
            struck: other.struck.as_ref().map(here),
            by: other.by.clone().map(|by| Arc::new(Acted { act: Act::Cool(length), by, at: from })),
        };
        if self.cooldown.by.is_some() {
            self.acted.clone_from(&self.cooldown.by);
        }
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
        } else if matches!(self.phase, Phase::Cooling | Phase::Probing)
            || (matches!(self.phase, Phase::Open) && !other.open)
        {
            self.phase = Phase::Probing;
        }
        self.wake_all(now);
    }
}
