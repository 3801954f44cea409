use std::sync::Arc;

use crate::time::Monotonic;

use super::entry::Entry;
use super::flight::{Flight, Queued};
use super::pacer::Pacer;

/// The right to send one attempt, now. Keep it until the answer is there, and then what [`Booking::answered`] leaves of it until
/// the response's body has ended or was dropped, and drop it then: so long the attempt is in flight.
///
/// It holds its pacer, which a number as a gate's ticket could not do as cheaply: what it is found by is another shared lock,
/// while the count of references lies beside the lock that was just taken.
#[derive(Debug)]
#[must_use = "an attempt is in flight only while its booking lives"]
pub struct Booking {
    flight: Flight,
    at: Monotonic,
}

impl Booking {
    #[inline]
    pub(super) fn new(pacer: Arc<Pacer>, entry: &Entry, at: Monotonic, counted: bool) -> Self {
        Self { flight: Flight::new(pacer, entry, counted), at }
    }

    /// When the attempt goes.
    #[must_use]
    pub fn at(&self) -> Monotonic {
        self.at
    }

    /// The pacer that it is of.
    #[must_use]
    pub fn pacer(&self) -> &Arc<Pacer> {
        &self.flight.pacer
    }

    /// The answer is there. What is left is in flight until it is dropped; `None` where nobody counts it.
    #[inline]
    #[must_use]
    pub fn answered(self) -> Option<Flight> {
        self.flight.counted.then_some(self.flight)
    }

    /// Holds the attempt back, since it has to wait for something else: it counts in every window until it is
    /// [sent](Booking::sent), and for a second nothing else goes where there is a gap; longer it need not be waited for, since
    /// what it waits for may never come, or its task may not be polled any more.
    pub fn hold(&mut self, now: Monotonic) {
        self.hold_back(false, now);
    }

    /// The same while it waits in the queue of another pacer, for however long that takes.
    pub fn hold_queued(&mut self, now: Monotonic) {
        self.hold_back(true, now);
    }

    fn hold_back(&mut self, queued: Queued, now: Monotonic) {
        let flight = &mut self.flight;
        if flight.held.is_some() {
            return;
        }
        flight.held = Some(queued);
        flight.pacer.with(|state| {
            let now = state.advance(now);
            state.hold(flight.cost, self.at, queued, now);
        });
    }

    /// What was held back goes now.
    ///
    /// # Errors
    /// The time from which it may go, where others went meanwhile and their gap runs. It is held back until it is sent then, and
    /// nobody else goes before.
    pub fn sent(&mut self, now: Monotonic) -> Result<(), Monotonic> {
        let flight = &mut self.flight;
        let Some(queued) = flight.held.replace(false) else {
            flight.held = None;
            return Ok(());
        };
        self.at = flight.pacer.with(|state| {
            let now = state.advance(now);
            state.send_held(flight.cost, queued, now).map(|()| now)
        })?;
        flight.held = None;
        Ok(())
    }

    /// The attempt was not sent: it was refused elsewhere, or cancelled before. It costs no quota.
    pub fn give_back(mut self, now: Monotonic) {
        let flight = &mut self.flight;
        let (held, counted) = (flight.held.take(), std::mem::replace(&mut flight.counted, false));
        flight.pacer.not_sent(flight.further);
        flight.pacer.with(|state| {
            let now = state.advance(now);
            match held {
                Some(queued) => state.release(flight.cost, queued),
                None => state.unnote(flight.cost, self.at, now),
            }
            if counted {
                state.ended();
            } else {
                state.nudge();
            }
        });
    }
}
