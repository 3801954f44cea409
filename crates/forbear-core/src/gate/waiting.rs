//! Callers that wait for the gate: parked, woken, never polling.

use std::task::Waker;
use std::time::Duration;

use crate::retry;
use crate::time::Monotonic;

use super::ask::{Ask, GrantId};
use super::decision::{Refusal, RefusalCause};
use super::queue::{Key, Waiter};
use super::state::{Phase, State};

/// A caller that was woken as the first in line and did nothing for so long lets the next one go first.
pub(super) const UNRESPONSIVE: Duration = Duration::from_secs(1);
/// From this place in line on, all look equally seldom.
const LAZIEST: usize = 60;

/// What a waiting caller does next.
#[derive(Debug)]
pub(super) enum Next {
    Ask(Option<GrantId>),
    Sleep(Monotonic),
    Refused(Refusal),
}

/// Jitter never leaves less than `needed` of the caller's budget, so that it does not cost the attempt.
fn jittered(until: Monotonic, draw: f64, ask: &Ask, needed: Duration, now: Monotonic) -> Monotonic {
    let latest = ask.deadline.map_or(Monotonic::NEVER, |deadline| deadline.before(needed));
    until.max(retry::jittered(until, draw, ask.deadline, now).min(latest))
}

impl State {
    /// Takes a place in the queue. `refused_at` is when the refusal was made that this wait answers.
    pub(super) fn park(
        &mut self,
        ask: &Ask,
        (not_before, jitter): (Monotonic, f64),
        refused_at: Option<Monotonic>,
        now: Monotonic,
    ) -> Result<Key, Refusal> {
        self.advance(now);
        if let (Phase::Recovering(recovery), Some(at)) = (&mut self.phase, refused_at) {
            recovery.unrefused(at);
        }
        if self.pause.is_on() {
            return Err(self.refuse(RefusalCause::Paused, None, now));
        }
        if self.queue.len() >= self.settings.max_waiters {
            return Err(self.refuse(RefusalCause::Crowded, None, now));
        }
        let key = Key { priority: ask.priority, entered: ask.entered, number: self.number() };
        let waiter = Waiter {
            // Whoever is served from here has waited.
            ask: Ask { waited: true, ..*ask },
            not_before,
            jitter,
            cooldown: Monotonic::ORIGIN,
            due: jittered(not_before, jitter, ask, self.time.needed(), now),
            refusal: None,
            waker: None,
            looks_at: now,
            called: None,
        };
        let ready = !matches!(self.phase, Phase::Cooling) && waiter.due <= now;
        if let (true, Phase::Recovering(recovery)) = (ready, &self.phase) {
            let turn = recovery.turn(self.queue.ahead_of(key));
            if !ask.fits(turn) {
                return Err(self.refuse(RefusalCause::Recovering, Some(turn), now));
            }
        }
        let queue = if ready { &mut self.queue.ready } else { &mut self.queue.asleep };
        queue.insert(key, waiter);
        Ok(key)
    }

    /// What the caller at `key` does next. Where that is to sleep, `waker` is woken when something changes for it.
    pub(super) fn next(&mut self, key: Key, waker: Waker, now: Monotonic) -> Next {
        self.advance(now);
        let next = self.decide(key, now);
        match next {
            Next::Sleep(until) => {
                if let Some(waiter) = self.queue.get_mut(key) {
                    waiter.looks_at = until;
                    waiter.called = None;
                    self.spent.extend(waiter.waker.replace(waker));
                }
            }
            Next::Ask(_) | Next::Refused(_) => {
                self.spent.push(waker);
                self.leave(key);
            }
        }
        next
    }

    /// Gives up a place; whoever is next then is told.
    pub(super) fn leave(&mut self, key: Key) {
        if let Some(waiter) = self.queue.remove(key) {
            self.spent.extend(waiter.waker);
            self.nudge();
        }
    }

    fn decide(&mut self, key: Key, now: Monotonic) -> Next {
        let cooling = matches!(self.phase, Phase::Cooling).then_some(self.cooldown.until);
        let needed = self.time.needed();
        let Some(waiter) = self.queue.get_mut(key) else { return Next::Ask(None) };
        let ask = waiter.ask;
        if let Some(refusal) = waiter.refusal.take() {
            return Next::Refused(refusal);
        }
        let until = self.cooldown.until;
        // Also where a higher epoch replaced the cool-down that it sleeps for by one that is over already.
        if waiter.cooldown != until && (cooling.is_some() || waiter.cooldown > until) {
            waiter.cooldown = until;
            waiter.due = jittered(until.max(waiter.not_before), waiter.jitter, &ask, needed, now);
        }
        let due = waiter.due;
        let deadline = ask.deadline.unwrap_or(Monotonic::NEVER);
        if self.pause.is_on() {
            return Next::Refused(self.refuse(RefusalCause::Paused, None, now));
        }
        if now >= deadline {
            return Next::Refused(self.refuse(RefusalCause::TooLate, None, now));
        }
        if self.probe_is_due(now)
            && self.queue.asleep.contains_key(&key)
            && matches!(self.phase, Phase::Cooling)
        {
            return Next::Ask(Some(self.reserve_probe(now)));
        }
        match cooling {
            Some(until) if !ask.fits(until) => {
                Next::Refused(self.refuse(RefusalCause::Cooling, Some(until), now))
            }
            Some(_) => Next::Sleep(self.recheck_at(key).map_or(due, |at| at.min(due)).min(deadline)),
            None if due > now && self.queue.asleep.contains_key(&key) => Next::Sleep(due.min(deadline)),
            None => match self.rouse(key, &ask, now) {
                Some(refusal) => Next::Refused(refusal),
                None => self.serve(key, &ask, deadline, now),
            },
        }
    }

    /// The caller's own time has come. It is refused where the family recovers and its place is too late.
    fn rouse(&mut self, key: Key, ask: &Ask, now: Monotonic) -> Option<Refusal> {
        if !self.queue.asleep.contains_key(&key) {
            return None;
        }
        self.queue.rouse(key);
        let Phase::Recovering(recovery) = &self.phase else { return None };
        let turn = recovery.turn(self.queue.ahead_of(key));
        (!ask.fits(turn)).then(|| self.refuse(RefusalCause::Recovering, Some(turn), now))
    }

    /// Is it this caller's turn?
    fn serve(&mut self, key: Key, ask: &Ask, deadline: Monotonic, now: Monotonic) -> Next {
        let leads = self.queue.leader() == Some(key);
        // The second in line looks every second whether the first still reacts, the third every two seconds, and so on:
        // a few looks a second however many wait, and a way past any number that do not react.
        let seconds = self.queue.ahead_at_most(key, LAZIEST).max(1);
        let idle = now.after(UNRESPONSIVE.saturating_mul(seconds)).min(deadline);
        let in_time = self.in_time(ask, now);
        match &mut self.phase {
            Phase::Open | Phase::Cooling => Next::Ask(None),
            Phase::Probing => {
                let at = self.lease_decides_at().unwrap_or(self.probe_from);
                if !self.probe_is_due(now) {
                    // Only the first keeps a timer for the verdict; the others are woken when it falls.
                    Next::Sleep(if leads { at.min(deadline) } else { idle })
                } else if !in_time {
                    Next::Refused(self.refuse(RefusalCause::TooLate, None, now))
                } else if self.may_probe(ask, now) {
                    Next::Ask(Some(self.reserve_probe(now)))
                } else {
                    self.nudge();
                    Next::Sleep(idle)
                }
            }
            Phase::Recovering(recovery) => {
                if !leads {
                    Next::Sleep(idle)
                } else if !recovery.has_token() {
                    Next::Sleep(recovery.turn(0).min(deadline))
                } else if !in_time {
                    Next::Refused(self.refuse(RefusalCause::TooLate, None, now))
                } else {
                    let _ = recovery.take();
                    let number = self.number();
                    self.grants.push(number);
                    Next::Ask(Some(GrantId { gate: self.id, number }))
                }
            }
        }
    }

    /// When this caller should look whether a recheck is due: only the first of those that sleep does.
    fn recheck_at(&self, key: Key) -> Option<Monotonic> {
        let first = self.queue.asleep.keys().next() == Some(&key);
        (first && self.settings.recheck.is_some() && self.cooldown.advertised)
            .then(|| self.lease_decides_at().unwrap_or(self.recheck_from))
    }

    /// A grant that was not used: what it stood for goes to the next caller.
    pub(super) fn give_back(&mut self, grant: GrantId) {
        if self.holds(grant) {
            self.hand_on();
        } else if self.use_grant(grant) {
            if let Phase::Recovering(recovery) = &mut self.phase {
                recovery.give_back();
            }
            self.nudge();
        }
    }

    /// Whether it is the right to send the probe, and that was not sent yet. A grant of another gate is none of this one.
    pub(super) fn holds(&self, grant: GrantId) -> bool {
        grant.gate == self.id
            && self.lease.is_some_and(|lease| lease.number == grant.number && lease.sent.is_none())
    }

    /// Takes a recovery's grant off the list; false where it is not on it.
    pub(super) fn use_grant(&mut self, grant: GrantId) -> bool {
        if grant.gate != self.id {
            return false;
        }
        let at = self.grants.iter().position(|number| *number == grant.number);
        at.map(|at| self.grants.swap_remove(at)).is_some()
    }
}
