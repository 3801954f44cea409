use std::sync::Arc;
use std::task::Waker;

use crate::time::Monotonic;

use super::booking::Booking;
use super::entry::Entry;
use super::pacer::Pacer;
use super::queue::Key;
use super::refusal::PacingRefusal;
use super::waiting::Next;

/// A place in the queue of a pacer. Dropping it leaves the queue; whoever comes next is woken.
#[derive(Debug)]
#[must_use = "dropping it leaves the queue"]
pub struct Spot {
    pacer: Arc<Pacer>,
    key: Option<Key>,
    entry: Entry,
}

/// What an attempt that waits does next.
#[derive(Debug)]
pub enum Turn {
    /// Send now. The spot is used up.
    Go(Booking),
    /// Look again at that time, or when woken.
    Sleep(Monotonic),
    /// Waiting is over: it cannot be sent before its deadline, or the process shuts down. The spot is used up.
    Refused(PacingRefusal),
}

impl Spot {
    pub(super) fn new(pacer: Arc<Pacer>, key: Key, entry: Entry) -> Self {
        Self { pacer, key: Some(key), entry }
    }

    /// From now on it waits until then: less of its budget is enough for an answer, or more is needed than was known.
    pub fn until(&mut self, deadline: Monotonic) {
        self.entry.deadline = Some(deadline);
    }

    /// What the attempt does next. Where that is to sleep, `waker` is kept and woken when something changes for it; the state
    /// is looked at and the waker stored under one lock, so no wake-up is lost. Who is woken asks its gate first: a strike or
    /// a pause wakes everybody. A spot that is used up is refused ([`NoQueue`](super::PacingCause::NoQueue)).
    pub fn turn(&mut self, waker: &Waker, now: Monotonic) -> Turn {
        // Cloned before the lock is taken: it is somebody else's code.
        let waker = waker.clone();
        let shuts_down = self.pacer.shuts_down();
        let deadline = self.entry.deadline.unwrap_or(Monotonic::NEVER);
        let key = self.key;
        let next = self.pacer.with(|state| {
            let now = state.advance(now);
            match key {
                Some(key) => state.next((key, deadline), waker, shuts_down, now),
                None => {
                    state.spent.push(waker);
                    Next::Refused(state.refuse(super::PacingCause::NoQueue, None, now))
                }
            }
        });
        match next {
            Next::Sleep(until) => Turn::Sleep(until),
            Next::Go(at, counted) => {
                self.key = None;
                Turn::Go(Booking::new(Arc::clone(&self.pacer), &self.entry, at, counted))
            }
            Next::Refused(refusal) => {
                if self.key.take().is_some() {
                    self.pacer.not_sent(self.entry.further);
                }
                Turn::Refused(refusal)
            }
        }
    }

    /// The pacer in whose queue it is.
    #[must_use]
    pub fn pacer(&self) -> &Arc<Pacer> {
        &self.pacer
    }
}

impl Drop for Spot {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.pacer.with(|state| state.leave(key));
            self.pacer.not_sent(self.entry.further);
        }
    }
}
