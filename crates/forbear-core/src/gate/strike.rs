//! A signal of the current generation closes the gate.

use std::sync::Arc;
use std::time::Duration;

use crate::signal::{Class, Signal};
use crate::time::Monotonic;

use super::decision::Struck;
use super::event::{Effect, Event};
use super::ladder::{floor, stretch};
use super::shard::Served;
use super::state::{Cooldown, Phase, State};
use super::ticket::Ticket;

/// Fewer accepted attempts than this since the last strike, and a signal without a delay is blind.
const ACCEPTED_WITHOUT_DELAY: u64 = 10;
/// What an exhausted quota or a ban costs where the vendor gives no delay.
const CLOSED_WITHOUT_DELAY: Duration = Duration::from_secs(60 * 60);

impl State {
    /// Takes a signal. `accepted` is how many attempts of this generation were accepted, `served` what it did.
    pub(super) fn signal(
        &mut self,
        ticket: &Ticket,
        signal: &Signal,
        route: &str,
        (accepted, served): (u64, &Served),
        now: Monotonic,
    ) -> Effect {
        if ticket.epoch != self.epoch {
            return Effect::None;
        }
        self.totals.signal(signal.class);
        self.window.refused_after(now.since(ticket.sent));
        if ticket.generation != self.generation {
            return self.extend(signal, now);
        }
        if self.route_refused(route, now) {
            return Effect::DeadRoute;
        }
        let blind = accepted < if signal.delay.is_some() { 1 } else { ACCEPTED_WITHOUT_DELAY };
        let level = self.level(now);
        let closed = matches!(signal.class, Class::Exhausted | Class::Blocked);
        self.informed = !blind;
        if blind || closed {
            self.set_level(level.saturating_add(1));
        } else {
            self.set_level(level.saturating_sub(1).max(1));
        }
        if !blind {
            self.pace = learned_pace(served, now).or(self.pace);
        }
        self.unserved_since = if blind { self.unserved_since.or(Some(now)) } else { Some(now) };
        self.close(signal, route, blind, now);
        Effect::Struck
    }

    fn close(&mut self, signal: &Signal, route: &str, blind: bool, now: Monotonic) {
        let running = if matches!(self.phase, Phase::Cooling) { self.cooldown.until } else { now };
        let own = now.after(self.length(signal));
        let until = running.max(own);
        // An operator's deadline stays the operator's.
        let by = self.cooldown.by.take().filter(|_| running > own);
        let struck = Arc::new(Struck { signal: signal.clone(), route: route.into(), at: now });
        let cooldown = Cooldown {
            from: now,
            until,
            advertised: signal.delay.is_some() && by.is_none(),
            struck: Some(Arc::clone(&struck)),
            by,
        };
        self.totals.strike(signal.class);
        self.events.push(Event::Strike { struck, cooldown: until.since(now), level: self.rung, blind });
        self.begin_cooldown(cooldown, now);
    }

    /// A new generation begins, closed until the end of `cooldown`.
    pub(super) fn begin_cooldown(&mut self, cooldown: Cooldown, now: Monotonic) {
        let until = cooldown.until;
        self.cooldown = cooldown;
        self.asked = now;
        self.since = now;
        self.generation = self.generation.wrapping_add(1);
        self.counted = 0;
        self.phase = Phase::Cooling;
        self.lease = None;
        self.fruitless = 0;
        self.grants.clear();
        self.probe_from = until;
        self.recheck_from = self.settings.recheck.map_or(until, |every| now.after(every));
        self.queue.lull_all();
        self.wake_all(now);
    }

    /// Whether a further blind strike would not make the cool-down any longer.
    pub(super) fn at_top_rung(&self, now: Monotonic) -> bool {
        let class = self.cooldown.struck.as_ref().map(|struck| struck.signal.class);
        let top = match class {
            Some(Class::Overloaded) => self.settings.overloaded.top(),
            _ => self.settings.throttled.top(),
        };
        self.level(now) >= top
    }

    /// How long this signal closes the gate at the present level.
    fn length(&self, signal: &Signal) -> Duration {
        let level = self.rung;
        let Some(delay) = signal.delay else {
            return match signal.class {
                Class::Exhausted | Class::Blocked => CLOSED_WITHOUT_DELAY,
                Class::Throttled => self.settings.throttled.rung(level),
                Class::Overloaded => self.settings.overloaded.rung(level),
            };
        };
        let advertised = delay.duration.min(self.settings.max_advertised);
        let stretched = if delay.absolute {
            advertised
        } else {
            advertised.saturating_mul(stretch(level)).min(advertised.saturating_add(Duration::from_secs(60)))
        };
        stretched.max(floor(level)).min(self.settings.max_advertised)
    }

    /// A signal of an older generation may make a running cool-down longer, by its raw delay, and nothing else.
    fn extend(&mut self, signal: &Signal, now: Monotonic) -> Effect {
        let Some(delay) = signal.delay else { return Effect::None };
        let until = now.after(delay.duration.min(self.settings.max_advertised));
        if !matches!(self.phase, Phase::Cooling) || until <= self.cooldown.until {
            return Effect::None;
        }
        self.extend_to(until, now);
        Effect::Extended
    }

    /// Moves the deadline of the running cool-down to `until`.
    pub(super) fn extend_to(&mut self, until: Monotonic, now: Monotonic) {
        self.probe_from = self.probe_from.max(until);
        self.cooldown.until = until;
        // Whoever still fits finds the later deadline when its timer fires.
        self.queue.take_wakers(&mut self.wakers, now, |waiter| !waiter.ask.fits(until));
    }
}

/// Attempts sent per second since the first of this generation: the larger of the rates over (at most) the last 10 s
/// and the last 60 s, each over at least 1 s.
fn learned_pace(served: &Served, now: Monotonic) -> Option<f64> {
    let age = now.since(served.first?);
    let rate = |recent: u64, span: u64| {
        let span = Duration::from_secs(span);
        let sent = if age <= span { served.sent } else { recent };
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let sent = sent as f64;
        sent / age.clamp(Duration::from_secs(1), span).as_secs_f64()
    };
    let pace = rate(served.ten_seconds, 10).max(rate(served.minute, 60));
    (pace > 0.0).then_some(pace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_the_larger_of_ten_seconds_and_a_minute() {
        let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
        let served = |sent, ten_seconds, minute| Served {
            sent,
            ten_seconds,
            minute,
            first: Some(at(100)),
            ..Served::default()
        };
        assert_eq!(learned_pace(&served(7, 7, 7), at(100)), Some(7.0));
        assert_eq!(learned_pace(&served(40, 40, 40), at(104)), Some(10.0));
        assert_eq!(learned_pace(&served(700, 5, 600), at(300)), Some(10.0));
        assert_eq!(learned_pace(&served(700, 300, 600), at(300)), Some(30.0));
        assert_eq!(learned_pace(&Served::default(), at(300)), None);
        // What was sent more than a minute ago says nothing of the pace.
        assert_eq!(learned_pace(&served(700, 0, 0), at(300)), None);
    }
}
