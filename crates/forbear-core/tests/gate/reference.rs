//! A second gate, written from the description alone: slow, without waiting callers or a pace.

use std::collections::VecDeque;
use std::time::Duration;

use forbear_core::signal::{Class, Scope, Signal};
use forbear_core::time::Monotonic;

use super::support::{minutes, ms, secs};

pub(super) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
pub(super) const MAX_ADVERTISED: Duration = Duration::from_secs(86_400);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Open or recovering: attempts may be sent.
    Up,
    Cooling,
    Probing,
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Out,
    Good,
    Neutral,
    Refused,
}

#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) epoch: u32,
    pub(super) generation: u32,
    pub(super) sent: Monotonic,
    pub(super) fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lease {
    /// Held by a caller that has not sent yet.
    Reserved { ends: Monotonic },
    /// Attempt `attempt` is the probe.
    Sent { attempt: usize, ends: Monotonic },
}

#[derive(Debug)]
pub(super) struct Reference {
    pub(super) epoch: u32,
    pub(super) generation: u32,
    /// The level at the last strike.
    pub(super) rung: u8,
    pub(super) from: Monotonic,
    pub(super) until: Monotonic,
    pub(super) standing: Standing,
    pub(super) lease: Option<Lease>,
    pub(super) next_probe: Monotonic,
    pub(super) attempts: Vec<Attempt>,
    fruitless: usize,
    refusals: VecDeque<Duration>,
}

impl Reference {
    pub(super) fn new(now: Monotonic) -> Self {
        Self {
            epoch: 0,
            generation: 0,
            rung: 0,
            from: now,
            until: now,
            standing: Standing::Up,
            lease: None,
            next_probe: now,
            attempts: Vec::new(),
            fruitless: 0,
            refusals: VecDeque::new(),
        }
    }

    /// "Three times the slowest of the last 8 refusals (at most 5 s), at least 250 ms."
    fn window(&self) -> Duration {
        let slowest = self.refusals.iter().max().copied().unwrap_or_default();
        (slowest * 3).min(secs(5)).max(ms(250))
    }

    /// "Each quiet span of twice the last cool-down, at least 10 s, takes one rung off."
    pub(super) fn level(&self, now: Monotonic) -> u8 {
        let span = (self.until.since(self.from) * 2).max(secs(10));
        let mut level = self.rung;
        let mut end = self.until.after(span);
        while level > 0 && end <= now {
            level -= 1;
            end = end.after(span);
        }
        level
    }

    pub(super) fn advance(&mut self, now: Monotonic) {
        if self.standing == Standing::Cooling && now >= self.until {
            self.standing = Standing::Probing;
            self.next_probe = self.until;
        }
        match self.lease {
            Some(Lease::Sent { attempt, ends }) => {
                let accepted = self.attempts[attempt].sent.after(self.window());
                if accepted <= now && accepted <= ends {
                    self.recover();
                } else if ends <= now {
                    self.fruitless_at(ends);
                }
            }
            Some(Lease::Reserved { ends }) if ends <= now => self.lease = None,
            _ => {}
        }
    }

    fn recover(&mut self) {
        self.standing = Standing::Up;
        self.lease = None;
        self.fruitless = 0;
    }

    fn fruitless_at(&mut self, at: Monotonic) {
        let gap = [1, 2, 4, 8, 16, 30][self.fruitless.min(5)];
        self.fruitless += 1;
        self.lease = None;
        self.next_probe = at.after(secs(gap));
    }

    pub(super) fn probe_is_due(&self, now: Monotonic) -> bool {
        self.standing == Standing::Probing && self.lease.is_none() && now >= self.next_probe
    }

    /// An attempt was let through at `now`; its number.
    pub(super) fn sent(&mut self, is_probe: bool, now: Monotonic) -> usize {
        let attempt = self.attempts.len();
        let (epoch, generation) = (self.epoch, self.generation);
        self.attempts.push(Attempt { epoch, generation, sent: now, fate: Fate::Out });
        if is_probe {
            self.lease = Some(Lease::Sent { attempt, ends: now.after(ATTEMPT_TIMEOUT) });
        }
        attempt
    }

    fn is_current(&self, attempt: usize) -> bool {
        let attempt = &self.attempts[attempt];
        (attempt.epoch, attempt.generation) == (self.epoch, self.generation)
    }

    fn holds_lease(&self, of: usize) -> bool {
        matches!(self.lease, Some(Lease::Sent { attempt, .. }) if attempt == of)
    }

    pub(super) fn good(&mut self, attempt: usize) {
        self.attempts[attempt].fate = Fate::Good;
        if self.is_current(attempt) && self.standing == Standing::Probing {
            self.recover();
        }
    }

    pub(super) fn neutral(&mut self, attempt: usize, now: Monotonic) {
        self.attempts[attempt].fate = Fate::Neutral;
        if self.holds_lease(attempt) {
            self.fruitless_at(now);
        }
    }

    pub(super) fn not_sent(&mut self, attempt: usize) {
        self.attempts[attempt].fate = Fate::Neutral;
        if self.holds_lease(attempt) {
            self.lease = None;
        }
    }

    /// A signal; `told_blind` is what the gate decided where its counts may differ from an exact one.
    /// Whether it is a strike.
    pub(super) fn bad(
        &mut self,
        attempt: usize,
        signal: &Signal,
        told_blind: Option<bool>,
        now: Monotonic,
    ) -> bool {
        if self.attempts[attempt].epoch != self.epoch {
            return false;
        }
        if signal.aged || signal.scope == Scope::Request {
            self.neutral(attempt, now);
            return false;
        }
        let needed = if signal.delay.is_some() { 1 } else { 10 };
        let (least, most) = self.accepted(attempt, now);
        self.attempts[attempt].fate = Fate::Refused;
        if self.refusals.len() == 8 {
            let _ = self.refusals.pop_front();
        }
        self.refusals.push_back(now.since(self.attempts[attempt].sent));
        if !self.is_current(attempt) {
            if let (Standing::Cooling, Some(delay)) = (self.standing, signal.delay) {
                self.until = self.until.max(now.after(delay.duration.min(MAX_ADVERTISED)));
            }
            return false;
        }
        let told = told_blind.expect("a signal of the current generation strikes");
        if least >= needed {
            assert!(!told, "{least} attempts were accepted, {needed} are enough");
        }
        if most < needed {
            assert!(told, "{most} attempts were accepted, {needed} are needed");
        }
        self.strike(signal, told, now);
        true
    }

    /// How many attempts were accepted: fewer than counted exactly where neutral answers came to later ones.
    fn accepted(&self, refused: usize, now: Monotonic) -> (usize, usize) {
        let (epoch, generation) = (self.epoch, self.generation);
        let of_generation =
            |(_, attempt): &(usize, &Attempt)| (attempt.epoch, attempt.generation) == (epoch, generation);
        let others = || self.attempts.iter().enumerate().filter(of_generation).filter(|(i, _)| *i != refused);
        let unrefused = |attempt: &Attempt| attempt.sent.after(self.window()) <= now;
        let most = others().filter(|(i, attempt)| match attempt.fate {
            Fate::Good => true,
            Fate::Out => *i < refused || unrefused(attempt),
            Fate::Neutral | Fate::Refused => false,
        });
        let good = others().filter(|(_, attempt)| attempt.fate == Fate::Good).count();
        let before = others().filter(|(i, _)| *i < refused).count();
        let neutral = others().filter(|(_, attempt)| attempt.fate == Fate::Neutral).count();
        (good.max(before.saturating_sub(neutral)), most.count())
    }

    fn strike(&mut self, signal: &Signal, blind: bool, now: Monotonic) {
        let level = self.level(now);
        let closed = matches!(signal.class, Class::Exhausted | Class::Blocked);
        self.rung = match (blind || closed, level) {
            (true, level) => (level + 1).min(7),
            (false, level) => level.saturating_sub(1).max(1),
        };
        self.from = now;
        self.until = now.after(self.length(signal));
        self.generation += 1;
        self.standing = Standing::Cooling;
        self.lease = None;
        self.fruitless = 0;
    }

    fn length(&self, signal: &Signal) -> Duration {
        let rung = usize::from(self.rung);
        let Some(delay) = signal.delay else {
            let ladder = match signal.class {
                Class::Throttled => [2, 5, 15, 30, 60, 60, 60].map(minutes),
                Class::Overloaded => [5, 10, 20, 40, 80, 160, 300].map(secs),
                _ => [minutes(60); 7],
            };
            return ladder[rung - 1];
        };
        let n = delay.duration.min(MAX_ADVERTISED);
        let stretched = match rung {
            _ if delay.absolute => n,
            1 | 2 => n,
            3 => n * 2,
            _ => n * 4,
        };
        let floor = [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000].map(ms)[rung - 1];
        stretched.min(n + secs(60)).max(floor).min(MAX_ADVERTISED)
    }

    pub(super) fn clear(&mut self, now: Monotonic) {
        self.epoch += 1;
        self.generation += 1;
        self.rung = 0;
        (self.from, self.until) = (now, now);
        self.recover();
    }

    /// Another replica's `(epoch, generation)`, level, length and remaining time.
    pub(super) fn merge(
        &mut self,
        age: (u32, u32),
        level: u8,
        length: Duration,
        remaining: Duration,
        now: Monotonic,
    ) {
        let until = now.after(remaining.min(length).min(MAX_ADVERTISED));
        let cooling = self.standing == Standing::Cooling;
        if age <= (self.epoch, self.generation) {
            if age.0 == self.epoch && cooling {
                self.until = self.until.max(until);
            }
            return;
        }
        let newer_epoch = age.0 > self.epoch;
        let until = if cooling && !newer_epoch { until.max(self.until) } else { until };
        (self.epoch, self.generation) = age;
        self.rung = level.min(7);
        self.until = until;
        self.from = until.before(length.min(MAX_ADVERTISED).max(until.since(now)));
        self.lease = None;
        self.fruitless = 0;
        self.next_probe = until;
        self.standing = match self.standing {
            _ if until > now => Standing::Cooling,
            _ if newer_epoch && length.is_zero() => Standing::Up,
            Standing::Up => Standing::Up,
            _ => Standing::Probing,
        };
    }
}
