//! Attempts that cannot go at once: refused, or parked and woken, never polling.

use std::task::Waker;
use std::time::Duration;

use crate::time::Monotonic;

use super::entry::Entry;
use super::queue::Key;
use super::refusal::{PacingCause, PacingRefusal};
use super::state::{Ready, State};

/// One that was woken as the first in line and did nothing for so long lets the next one go first.
const UNRESPONSIVE: Duration = Duration::from_secs(1);
/// From this place in line on, all look equally seldom.
const LAZIEST: usize = 60;

/// What becomes of an attempt that could not go without a look at the queue.
#[derive(Debug)]
pub(super) enum Parked {
    /// It goes, at that time; whether its end is to be told.
    Go(Monotonic, bool),
    Queued(Key),
}

/// What one that waits does next.
#[derive(Debug)]
pub(super) enum Next {
    /// At that time; whether its end is to be told.
    Go(Monotonic, bool),
    Sleep(Monotonic),
    Refused(PacingRefusal),
}

impl State {
    /// Goes at once, where it can after all; else takes a place in the queue.
    pub(super) fn park(
        &mut self,
        entry: &Entry,
        shuts_down: bool,
        now: Monotonic,
    ) -> Result<Parked, PacingRefusal> {
        self.pass_over_the_unresponsive(now);
        match self.ready(entry.cost, now) {
            Ready::Never => return Err(self.refuse(PacingCause::Cost, None, now)),
            Ready::Now if self.queue.none_ready() => return Ok(Parked::Go(now, self.book(entry.cost, now))),
            _ => {}
        }
        let in_time = self.surely_fits(entry, now) || entry.fits(self.expected(entry, now));
        let refused = if shuts_down {
            PacingCause::ShuttingDown
        } else if !entry.queues {
            PacingCause::NoQueue
        } else if self.queue.len() >= self.settings.queue {
            PacingCause::QueueFull
        } else if !in_time {
            PacingCause::TooLate
        } else {
            self.totals.waited = self.totals.waited.saturating_add(1);
            return Ok(Parked::Queued(self.queue.insert(*entry, now)));
        };
        let at = self.expected(entry, now);
        // Where only what is in flight is in the way, nobody knows when.
        Err(self.refuse(refused, (at > now).then_some(at), now))
    }

    pub(super) fn refuse(
        &mut self,
        cause: PacingCause,
        retry_at: Option<Monotonic>,
        now: Monotonic,
    ) -> PacingRefusal {
        self.totals.refusal(cause);
        PacingRefusal { cause, retry_at, at: now, queued: self.queue.len() }
    }

    /// What the one at `key` does next, which must go before `deadline`. Where that is to sleep, `waker` is woken when something changes for it.
    pub(super) fn next(
        &mut self,
        (key, deadline): (Key, Monotonic),
        waker: Waker,
        shuts_down: bool,
        now: Monotonic,
    ) -> Next {
        self.pass_over_the_unresponsive(now);
        let next = self.decide(key, deadline, shuts_down, now);
        if let Next::Sleep(until) = next {
            if let Some(waiter) = self.queue.get_mut(key) {
                waiter.looks_at = until;
                waiter.called = None;
                self.spent.extend(waiter.waker.replace(waker));
            }
        } else {
            self.spent.push(waker);
            self.leave(key);
        }
        next
    }

    fn decide(&mut self, key: Key, deadline: Monotonic, shuts_down: bool, now: Monotonic) -> Next {
        self.queue.take_back(key);
        let Some(cost) = self.queue.get_mut(key).map(|waiter| waiter.entry.cost) else {
            return Next::Refused(self.refuse(PacingCause::NoQueue, None, now));
        };
        if shuts_down {
            return Next::Refused(self.refuse(PacingCause::ShuttingDown, None, now));
        }
        let leads = self.queue.leader() == Some(key);
        let ready = self.ready(cost, now);
        // What is not possible for itself alone is not possible behind others.
        let at = if let Ready::At(at) = ready { at } else { now };
        if ready == Ready::Never {
            return Next::Refused(self.refuse(PacingCause::Cost, None, now));
        }
        if at >= deadline {
            return Next::Refused(self.refuse(PacingCause::TooLate, (at > now).then_some(at), now));
        }
        match ready {
            Ready::Now if leads => {
                let waiter = self.queue.serve(key);
                self.spent.extend(waiter.and_then(|waiter| waiter.waker));
                let counted = self.book(cost, now);
                self.nudge();
                Next::Go(now, counted)
            }
            Ready::At(at) if leads => Next::Sleep(at),
            Ready::Later if leads => Next::Sleep(deadline.min(self.held.ends(now))),
            _ => {
                // The second in line looks every second whether the first still reacts, the third every two seconds, and so
                // on: a few looks a second however many wait, and a way past any number that do not react.
                let seconds = self.queue.ahead_at_most(key, LAZIEST).max(1);
                Next::Sleep(now.after(UNRESPONSIVE.saturating_mul(seconds)).min(deadline))
            }
        }
    }

    /// Gives up a place; whoever is next then is told.
    pub(super) fn leave(&mut self, key: Key) {
        if let Some(waiter) = self.queue.leave(key) {
            self.spent.extend(waiter.waker);
            self.nudge();
        }
    }

    /// Wakes the one that goes next, so that it arms its timer or goes.
    pub(super) fn nudge(&mut self) {
        if self.in_flight.left() == 0 {
            // It could not go. Whatever frees a place tells it, so that each is woken once for its turn.
            return;
        }
        if let Some(leader) = self.queue.leader()
            && let Some(waiter) = self.queue.get_mut(leader)
        {
            self.wakers.extend(waiter.waker.take());
        }
    }

    /// The first in line was woken, or its timer fired, and it does nothing (its future is held but not polled): it is not
    /// served until it looks again, and the next one leads.
    fn pass_over_the_unresponsive(&mut self, now: Monotonic) {
        let mut passed = false;
        while let Some(key) = self.queue.leader() {
            let Some(waiter) = self.queue.get_mut(key) else { break };
            let since =
                if waiter.waker.is_some() { waiter.looks_at } else { *waiter.called.get_or_insert(now) };
            if now.since(since) < UNRESPONSIVE {
                break;
            }
            self.queue.set_aside(key);
            passed = true;
        }
        if passed {
            self.nudge();
        }
    }

    /// Wakes everybody, so that each decides again.
    pub(super) fn rouse(&mut self) {
        let latest = self.latest;
        self.queue.take_wakers(&mut self.wakers, latest);
    }
}
