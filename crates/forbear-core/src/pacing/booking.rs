use std::sync::Arc;

use crate::time::Monotonic;

use super::entry::Entry;
use super::pacer::Pacer;

/// Whether what is held back waits in another queue.
type Queued = bool;

/// The right to send one attempt, now. Keep it until the response's body has ended or was dropped, and drop it then: so long
/// the attempt is in flight.
///
/// It holds its pacer, which a number as a gate's ticket could not do as cheaply: what it is found by is another shared lock,
/// while the count of references lies beside the lock that was just taken.
#[derive(Debug)]
#[must_use = "an attempt is in flight only while its booking lives"]
pub struct Booking {
    pacer: Arc<Pacer>,
    at: Monotonic,
    cost: u32,
    /// Whether it is counted as in flight.
    counted: bool,
    further: bool,
    /// Whether it is held back, and if so, whether in another queue.
    held: Option<Queued>,
}

impl Booking {
    #[inline]
    pub(super) fn new(pacer: Arc<Pacer>, entry: &Entry, at: Monotonic, counted: bool) -> Self {
        Self { pacer, at, cost: entry.cost, counted, further: entry.further, held: None }
    }

    /// When the attempt goes.
    #[must_use]
    pub fn at(&self) -> Monotonic {
        self.at
    }

    /// The pacer that it is of.
    #[must_use]
    pub fn pacer(&self) -> &Arc<Pacer> {
        &self.pacer
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
        if self.held.is_some() {
            return;
        }
        self.held = Some(queued);
        self.pacer.with(|state| {
            let now = state.advance(now);
            state.hold(self.cost, self.at, queued, now);
        });
    }

    /// What was held back goes now.
    ///
    /// # Errors
    /// The time from which it may go, where others went meanwhile and their gap runs. It is held back until it is sent then, and
    /// nobody else goes before.
    pub fn sent(&mut self, now: Monotonic) -> Result<(), Monotonic> {
        let Some(queued) = self.held.replace(false) else {
            self.held = None;
            return Ok(());
        };
        self.at = self.pacer.with(|state| {
            let now = state.advance(now);
            state.send_held(self.cost, queued, now).map(|()| now)
        })?;
        self.held = None;
        Ok(())
    }

    /// The attempt was not sent: it was refused elsewhere, or cancelled before. It costs no quota.
    pub fn give_back(mut self, now: Monotonic) {
        let (held, counted) = (self.held.take(), std::mem::replace(&mut self.counted, false));
        self.pacer.not_sent(self.further);
        self.pacer.with(|state| {
            let now = state.advance(now);
            match held {
                Some(queued) => state.release(self.cost, queued),
                None => state.unnote(self.cost, self.at, now),
            }
            if counted {
                state.ended();
            } else {
                state.nudge();
            }
        });
    }
}

impl Drop for Booking {
    #[inline]
    fn drop(&mut self) {
        if self.held.is_some() || self.counted {
            self.end();
        }
    }
}

impl Booking {
    // Not within the drop of every attempt that is not counted.
    #[inline(never)]
    fn end(&self) {
        if self.held.is_none() && self.pacer.lock().ended_alone() {
            return;
        }
        self.pacer.with(|state| {
            if let Some(queued) = self.held {
                state.release(self.cost, queued);
            }
            if self.counted {
                state.ended();
            }
        });
        if self.held.is_some() {
            self.pacer.not_sent(self.further);
        }
    }
}
