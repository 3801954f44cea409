use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::living::Id;
use crate::signal::Class;
use crate::time::Monotonic;

use super::attempt_time::AttemptTime;
use super::dead_route::Routes;
use super::decision::{Refusal, RefusalCause, Struck};
use super::event::Event;
use super::ladder::TOP_LEVEL;
use super::operator::Acted;
use super::pause::Pause;
use super::probe::Lease;
use super::queue::{Key, Queue};
use super::recovery::Recovery;
use super::refusal_window::RefusalWindow;
use super::settings::GateSettings;
use super::totals::Totals;
use super::waiting::UNRESPONSIVE;

/// All that a gate knows. Its methods are spread over the files that bear their subject's name.
#[derive(Debug)]
pub(super) struct State {
    /// The number of its gate, for what is given out.
    pub(super) id: Id,
    pub(super) settings: Arc<GateSettings>,
    pub(super) epoch: u32,
    pub(super) generation: u32,
    /// The level at the last strike; quiet time since then lowers it, see [`State::level`].
    pub(super) rung: u8,
    pub(super) phase: Phase,
    pub(super) pause: Pause,
    /// When the phase began.
    pub(super) since: Monotonic,
    /// Since when nothing was accepted; `None` while the family is called.
    pub(super) unserved_since: Option<Monotonic>,
    /// When somebody asked last while it was not open, or closed it.
    pub(super) asked: Monotonic,
    /// What an operator did last.
    pub(super) acted: Option<Arc<Acted>>,
    pub(super) cooldown: Cooldown,
    /// The probe that is out, or the right to send it that somebody holds.
    pub(super) lease: Option<Lease>,
    /// No probe goes out before, once the cool-down is over.
    pub(super) probe_from: Monotonic,
    /// No recheck goes out before, within the cool-down.
    pub(super) recheck_from: Monotonic,
    /// How many probes in a row ended without news.
    pub(super) fruitless: u32,
    /// The learned pace, in attempts per second.
    pub(super) pace: Option<f64>,
    /// Whether the last strike came after service.
    pub(super) informed: bool,
    pub(super) time: AttemptTime,
    pub(super) window: RefusalWindow,
    /// Attempts of this generation that were admitted under the lock.
    pub(super) counted: u32,
    pub(super) queue: Queue,
    /// The last number given to a waiter, a lease or a grant.
    pub(super) numbers: u64,
    /// Grants given in this recovery and not used yet.
    pub(super) grants: Vec<u64>,
    pub(super) routes: Routes,
    /// Counters for health and metrics; attempts are counted per thread.
    pub(super) totals: Totals,
    /// What an operator is to be told; taken by whoever holds the lock.
    pub(super) events: Vec<Event>,
    /// Who is to be woken once the lock is free.
    pub(super) wakers: Vec<Waker>,
    /// Wakers that nobody needs any more. A waker's drop is somebody else's code and may come back to this gate, so it
    /// happens once the lock is free.
    pub(super) spent: Vec<Waker>,
}

#[derive(Debug)]
pub(super) enum Phase {
    Open,
    Cooling,
    Probing,
    Recovering(Recovery),
}

/// The last cool-down.
#[derive(Debug, Clone, Default)]
pub(super) struct Cooldown {
    pub(super) from: Monotonic,
    pub(super) until: Monotonic,
    /// Whether the vendor gave the delay.
    pub(super) advertised: bool,
    pub(super) struck: Option<Arc<Struck>>,
    /// The operator to whom its deadline is due, where it is not the vendor.
    pub(super) by: Option<Arc<Acted>>,
}

impl Cooldown {
    /// Its final length, after stretch and extension.
    pub(super) fn length(&self) -> Duration {
        self.until.since(self.from)
    }

    /// The class of the signal that began it; `None` where an operator did, some time after a signal.
    pub(super) fn class(&self) -> Option<Class> {
        let struck = self.struck.as_ref()?;
        (struck.at >= self.from).then_some(struck.signal.class)
    }
}

impl State {
    pub(super) fn new(id: Id, settings: Arc<GateSettings>, pause: Pause) -> Self {
        Self {
            id,
            settings,
            epoch: 0,
            generation: 0,
            rung: 0,
            phase: Phase::Open,
            pause,
            since: Monotonic::ORIGIN,
            unserved_since: None,
            asked: Monotonic::ORIGIN,
            acted: None,
            cooldown: Cooldown::default(),
            lease: None,
            probe_from: Monotonic::ORIGIN,
            recheck_from: Monotonic::ORIGIN,
            fruitless: 0,
            pace: None,
            informed: false,
            time: AttemptTime::default(),
            window: RefusalWindow::default(),
            counted: 0,
            queue: Queue::default(),
            numbers: 0,
            grants: Vec::new(),
            routes: Routes::default(),
            totals: Totals::default(),
            events: Vec::new(),
            wakers: Vec::new(),
            spent: Vec::new(),
        }
    }

    /// Makes the changes that time alone brings.
    pub(super) fn advance(&mut self, now: Monotonic) {
        if matches!(self.phase, Phase::Cooling) && now >= self.cooldown.until {
            self.phase = Phase::Probing;
            self.since = self.cooldown.until;
            self.probe_from = self.probe_from.max(self.cooldown.until);
        }
        self.advance_lease(now);
        self.pass_over_the_unresponsive(now);
        let waiting = !self.queue.ready.is_empty();
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.advance(waiting, now);
            if recovery.over(now) {
                self.phase = Phase::Open;
                self.since = now;
                self.pace = None;
                self.grants.clear();
            }
        }
    }

    /// The level now: each quiet span of twice the last cool-down, at least 10 s, takes one rung off. Spans count from
    /// the deadline, which is never before the signal that set it; a strike ends them.
    pub(super) fn level(&self, now: Monotonic) -> u8 {
        let span = self.cooldown.length().saturating_mul(2).max(Duration::from_secs(10));
        let spans = now.since(self.cooldown.until).as_nanos().checked_div(span.as_nanos()).unwrap_or(0);
        self.rung.saturating_sub(u8::try_from(spans).unwrap_or(u8::MAX))
    }

    pub(super) fn set_level(&mut self, level: u8) {
        self.rung = level.min(TOP_LEVEL);
    }

    pub(super) fn refuse(
        &mut self,
        cause: RefusalCause,
        retry_at: Option<Monotonic>,
        now: Monotonic,
    ) -> Refusal {
        self.totals.refusal(cause);
        let waitable =
            matches!(cause, RefusalCause::Cooling | RefusalCause::Probing | RefusalCause::Recovering);
        let operator = match cause {
            RefusalCause::Paused => self.pause.by(),
            _ => self.cooldown.by.clone(),
        };
        Refusal { cause, retry_at, waitable, at: now, strike: self.cooldown.struck.clone(), operator }
    }

    /// The probe was accepted at `at`, or an operator cleared the gate: callers come back, at a pace.
    pub(super) fn begin_recovery(&mut self, at: Monotonic) {
        let length = self.cooldown.length();
        self.lease = None;
        self.fruitless = 0;
        self.since = at;
        self.unserved_since = None;
        self.grants.clear();
        let recovery = Recovery::new(self.pace, self.informed, length, &self.time, at);
        self.totals.recoveries = self.totals.recoveries.saturating_add(1);
        self.events.push(Event::Recovery {
            struck: self.cooldown.struck.clone(),
            cooldown: length,
            closed: at.since(self.cooldown.from),
            level: self.level(at),
            pace: recovery.pace(),
        });
        self.phase = Phase::Recovering(recovery);
        self.queue.rouse_all(at);
        self.refuse_places_too_late(at);
        self.nudge();
    }

    /// Wakes the caller that is served next, so that it arms its timer or asks.
    pub(super) fn nudge(&mut self) {
        let next = match self.phase {
            // Only a recheck is of interest to somebody before the deadline.
            Phase::Cooling if self.settings.recheck.is_none() => None,
            Phase::Cooling => self.queue.asleep.values_mut().next(),
            _ => self.queue.ready.values_mut().next(),
        };
        if let Some(waiter) = next {
            self.wakers.extend(waiter.waker.take());
        }
    }

    /// The first in line was woken, or its timer fired, and it does nothing (its future is held but not polled): it is
    /// not served until it looks again, and the next one leads.
    fn pass_over_the_unresponsive(&mut self, now: Monotonic) {
        let mut passed = false;
        while let Some((key, waiter)) = self.queue.ready.iter_mut().next() {
            let since =
                if waiter.waker.is_some() { waiter.looks_at } else { *waiter.called.get_or_insert(now) };
            if now.since(since) < UNRESPONSIVE {
                break;
            }
            let key = *key;
            self.queue.lull(key, now);
            passed = true;
        }
        if passed {
            self.nudge();
        }
    }

    /// Wakes everybody, so that each decides again.
    pub(super) fn wake_all(&mut self, now: Monotonic) {
        self.queue.take_wakers(&mut self.wakers, now, |_| true);
    }

    pub(super) fn number(&mut self) -> u64 {
        self.numbers = self.numbers.wrapping_add(1);
        self.numbers
    }

    /// Refuses callers whose place comes after their deadline at the present pace.
    fn refuse_places_too_late(&mut self, now: Monotonic) {
        let Phase::Recovering(recovery) = &self.phase else { return };
        let mut ahead = 0_usize;
        let mut late: Vec<(Key, Monotonic)> = Vec::new();
        for (key, waiter) in &self.queue.ready {
            let turn = recovery.turn(ahead);
            if waiter.ask.fits(turn) {
                ahead = ahead.saturating_add(1);
            } else {
                late.push((*key, turn));
            }
        }
        for (key, turn) in late {
            let refusal = self.refuse(RefusalCause::Recovering, Some(turn), now);
            if let Some(waiter) = self.queue.get_mut(key) {
                waiter.refusal = Some(refusal);
                self.wakers.extend(waiter.waker.take());
            }
        }
    }
}
