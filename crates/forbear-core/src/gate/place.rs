use std::sync::Arc;
use std::task::Waker;

use crate::time::Monotonic;

use super::ask::{Ask, GrantId};
use super::decision::Refusal;
use super::engine::Gate;
use super::event::Event;
use super::queue::Key;
use super::waiting::Next;

/// A place in the queue of callers that wait for a gate. Dropping it leaves the queue;
/// whoever comes next is woken.
#[derive(Debug)]
pub struct Place {
    gate: Arc<Gate>,
    key: Option<Key>,
}

/// What a waiting caller does next.
#[derive(Debug)]
pub enum Turn {
    /// Ask the gate again, with this grant where there is one.
    Ask(Option<Grant>),
    /// Look again at that time, or when woken.
    Sleep(Monotonic),
    /// Waiting is over: it cannot be served within its budget, the family was paused, or the process shuts down.
    Refused(Refusal),
}

/// The right to send one attempt, reserved for the caller that waited for it. Dropped unused, it goes to the next.
#[derive(Debug)]
pub struct Grant {
    gate: Arc<Gate>,
    id: GrantId,
}

impl Gate {
    /// Takes a place in the queue. `not_before` is a time that the caller was told itself (the past where there is
    /// none), `jitter` its draw in 0..1, `refused_at` the moment of the refusal that this wait answers.
    ///
    /// # Errors
    /// The refusal where it cannot wait: paused, too many wait already, its place comes after its deadline, or the
    /// process shuts down.
    pub fn place(
        self: &Arc<Self>,
        ask: &Ask,
        wait: (Monotonic, f64),
        refused_at: Option<Monotonic>,
        now: Monotonic,
    ) -> (Result<Place, Refusal>, Vec<Event>) {
        let (parked, events) = self.park(ask, wait, refused_at, now);
        (parked.map(|key| Place { gate: Arc::clone(self), key: Some(key) }), events)
    }
}

impl Place {
    /// What the caller does next. Where that is to sleep, `waker` is kept and woken when something changes for it;
    /// the state is looked at and the waker stored under one lock, so no wake-up is lost.
    pub fn turn(&mut self, waker: &Waker, now: Monotonic) -> (Turn, Vec<Event>) {
        let Some(key) = self.key else { return (Turn::Ask(None), Vec::new()) };
        // Cloned before the lock is taken: it is somebody else's code.
        let waker = waker.clone();
        let (next, events) = self.gate.with(|state| match self.gate.shuts_down() {
            true => state.dismiss(key, waker, now),
            false => state.next(key, waker, now),
        });
        let turn = match next {
            Next::Sleep(until) => return (Turn::Sleep(until), events),
            Next::Ask(grant) => Turn::Ask(grant.map(|id| Grant { gate: Arc::clone(&self.gate), id })),
            Next::Refused(refusal) => Turn::Refused(refusal),
        };
        self.key = None;
        (turn, events)
    }

    /// The gate this place belongs to.
    #[must_use]
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            let _ = self.gate.with(|state| state.leave(key));
        }
    }
}

impl Grant {
    /// What [`Ask::grant`] takes.
    #[must_use]
    pub fn id(&self) -> GrantId {
        self.id
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let _ = self.gate.with(|state| state.give_back(self.id));
    }
}
