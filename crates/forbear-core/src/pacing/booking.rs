use std::sync::Arc;

use crate::time::Monotonic;

use super::entry::Entry;
use super::pacer::Pacer;

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
    /// Whether it is held back.
    held: bool,
}

impl Booking {
    #[inline]
    pub(super) fn new(pacer: Arc<Pacer>, entry: &Entry, at: Monotonic, counted: bool) -> Self {
        Self { pacer, at, cost: entry.cost, counted, further: entry.further, held: false }
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

    /// Holds the attempt back, since it has to wait for something else, such as another pacer: it counts in every window
    /// until it is [sent](Booking::sent), and nothing else comes closer than the gap meanwhile.
    pub fn hold(&mut self, now: Monotonic) {
        if !std::mem::replace(&mut self.held, true) {
            self.pacer.with(|state| {
                let now = state.advance(now);
                state.hold(self.cost, self.at, now);
            });
        }
    }

    /// What was held back goes now.
    pub fn sent(&mut self, now: Monotonic) {
        if std::mem::replace(&mut self.held, false) {
            self.at = self.pacer.with(|state| {
                let now = state.advance(now);
                state.release(self.cost, Some(now));
                now
            });
        }
    }

    /// The attempt was not sent: it was refused elsewhere, or cancelled before. It costs no quota.
    pub fn give_back(mut self, now: Monotonic) {
        let (held, counted) = (self.held, std::mem::replace(&mut self.counted, false));
        self.held = false;
        self.pacer.not_sent(self.further);
        self.pacer.with(|state| {
            let now = state.advance(now);
            if held {
                state.release(self.cost, None);
            } else {
                state.unnote(self.cost, self.at, now);
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
        if self.held || self.counted {
            self.end();
        }
    }
}

impl Booking {
    // Not within the drop of every attempt that is not counted.
    #[inline(never)]
    fn end(&self) {
        if !self.held && self.pacer.lock().ended_alone() {
            return;
        }
        self.pacer.with(|state| {
            if self.held {
                state.release(self.cost, None);
            }
            if self.counted {
                state.ended();
            }
        });
        if self.held {
            self.pacer.not_sent(self.further);
        }
    }
}
