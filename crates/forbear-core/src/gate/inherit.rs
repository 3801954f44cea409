//! What a gate takes over from another one that it follows: a vendor asked for time, whatever its family is called.
//!
//! Unlike in a [merge](super::Transition), the two counted their epochs and generations apart, so these say nothing of who is
//! newer; but both know this process's clock.

use crate::time::Monotonic;

use super::engine::Gate;
use super::state::{Cooldown, Phase, State};

/// What a gate leaves.
struct Estate {
    cooldown: Cooldown,
    open: bool,
    rung: u8,
    pace: Option<f64>,
    informed: bool,
    since: Monotonic,
    unserved_since: Option<Monotonic>,
}

impl Gate {
    /// Takes over where `other` stands. A cool-down that runs there runs here, to the later deadline. A gate that met nothing
    /// yet goes on as the other would: where that was not well yet, with a probe. A pause is an operator's to end, so it
    /// comes along too.
    pub(crate) fn inherit(&self, other: &Self, now: Monotonic) {
        let estate = other.lock().estate();
        let ((), events) = self.with(|state| {
            state.advance(now);
            state.inherit(estate, now);
        });
        // Nobody is told here: whoever looks next tells them.
        self.lock().events.splice(0..0, events);
        self.take_pause(other, now);
    }
}

impl State {
    fn estate(&self) -> Estate {
        Estate {
            cooldown: self.cooldown.clone(),
            open: matches!(self.phase, Phase::Open),
            rung: self.rung,
            pace: self.pace,
            informed: self.informed,
            since: self.since,
            unserved_since: self.unserved_since,
        }
    }

    fn inherit(&mut self, mut left: Estate, now: Monotonic) {
        if left.cooldown.by.is_none() {
            left.cooldown.until = left.cooldown.until.min(now.after(self.settings.max_advertised));
        }
        let fresh = (self.epoch, self.generation) == (0, 0);
        let runs = left.cooldown.until > now;
        let cools = matches!(self.phase, Phase::Cooling);
        if !(runs || fresh) || (cools && left.cooldown.until <= self.cooldown.until) {
            return;
        }
        let level = self.level(now).max(left.rung);
        self.set_level(level);
        self.unserved_since = self.unserved_since.or(left.unserved_since);
        if fresh {
            (self.pace, self.informed) = (left.pace, left.informed);
        }
        if left.open {
            // What its level is counted from.
            self.cooldown = left.cooldown;
            return;
        }
        if left.cooldown.by.is_some() {
            self.acted.clone_from(&left.cooldown.by);
        }
        self.begin_cooldown(left.cooldown, now);
        self.since = left.since;
    }
}
