//! The pacing of a gate's family lives with the gate: it survives new settings, and ends its waits when the gate closes.

use std::sync::Arc;

use crate::pacing::{Pacer, Pacing};
use crate::time::Monotonic;

use super::engine::Gate;
use super::event::Outcome;
use super::ticket::Ticket;

impl Gate {
    /// The pacing of its family, where it has any: one atomic load where it never had.
    #[must_use]
    #[inline]
    pub fn pacer(&self) -> Option<&Arc<Pacer>> {
        self.pacer.get().filter(|pacer| pacer.paces())
    }

    /// Paces its family like this from now on, over what was sent so far; `None` for not at all. Everybody who waits looks
    /// again.
    pub fn pace(&self, pacing: Option<&Pacing>) {
        let longest = self.max_advertised();
        if let Some(pacer) = self.pacer.get() {
            return pacer.configure(pacing, longest);
        }
        let Some(pacing) = pacing else { return };
        let made = || Arc::new(Pacer::heard(pacing, longest, self.listeners().cloned()));
        let pacer = self.pacer.get_or_init(made);
        // A part that is made meanwhile has it, or is among these.
        for part in self.every_part() {
            let _ = part.pacer.set(Arc::clone(pacer));
        }
    }

    /// It closed: whoever waits to be paced asks it now.
    #[cold]
    pub(super) fn empty_pacing(&self) {
        if let Some(pacer) = self.pacer() {
            pacer.rouse();
        }
    }

    /// Ends the waits of its family's pacing, and says how many there were. A part's are its family's.
    pub(super) fn shut_down_pacing(&self, now: Monotonic) -> usize {
        let Some(pacer) = self.pacer().filter(|_| self.label.is_none()) else { return 0 };
        let queued = pacer.view(now).queued;
        pacer.rouse();
        queued
    }

    /// A signal that too much is in flight, met by an attempt that an open gate let through, lowers what may be where pacing
    /// is steered: then it is no news here.
    pub(super) fn steered<'o>(&self, ticket: &Ticket, outcome: Outcome<'o>, now: Monotonic) -> Outcome<'o> {
        match outcome {
            Outcome::Bad(signal, _)
                if ticket.was_open()
                    && signal.is_concurrency()
                    && self.pacer().is_some_and(|pacer| pacer.lower(ticket.sent(), now)) =>
            {
                self.lock().totals.signal(signal.class);
                Outcome::Neutral
            }
            other => other,
        }
    }
}
