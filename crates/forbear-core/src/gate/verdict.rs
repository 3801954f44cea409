//! What an answer that is no signal changes. Signals are in `strike`.

use crate::time::Monotonic;

use super::event::Effect;
use super::state::{Phase, State};
use super::ticket::{Kind, Ticket};

impl State {
    /// An accepted attempt: of the probe's generation it begins the recovery.
    pub(super) fn good(&mut self, ticket: &Ticket, now: Monotonic) -> Effect {
        if ticket.epoch != self.epoch || ticket.generation != self.generation {
            return Effect::None;
        }
        self.time.answered_in(now.since(ticket.sent));
        match self.phase {
            Phase::Probing | Phase::Cooling => {
                self.begin_recovery(now);
                Effect::Recovered
            }
            Phase::Open | Phase::Recovering(_) => Effect::None,
        }
    }

    /// No news: where it was the probe, the next one waits.
    pub(super) fn neutral(&mut self, ticket: &Ticket, now: Monotonic) -> Effect {
        if self.holds_lease(ticket) {
            self.probe_was_fruitless(now);
            return Effect::ProbeEnded;
        }
        Effect::None
    }

    /// Nothing was sent: what the ticket stood for goes to the next caller.
    pub(super) fn not_sent(&mut self, ticket: &Ticket, now: Monotonic) -> Effect {
        if self.holds_lease(ticket) {
            self.recheck_from = self.recheck_from.min(now);
            self.hand_on();
            return Effect::ProbeEnded;
        }
        if (ticket.epoch, ticket.generation) == (self.epoch, self.generation)
            && ticket.kind == Kind::Counted
            && let Phase::Recovering(recovery) = &mut self.phase
        {
            recovery.give_back();
            self.nudge();
        }
        Effect::None
    }

    fn holds_lease(&self, ticket: &Ticket) -> bool {
        // A new generation ends the lease, and its number is not given again.
        self.lease.is_some_and(|lease| ticket.kind == Kind::Probe(lease.tag()))
    }
}
