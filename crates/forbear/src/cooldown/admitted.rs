use std::sync::Arc;

use forbear_core::gate::{Gate, Observed, Outcome, Ticket, answered_open};
use forbear_core::signal::Signal as Said;
use forbear_core::time::Monotonic;

use super::answer::Unsettled;
use crate::{clock, events};

/// An attempt that was let through and whose outcome is not known yet. Dropped like that (cancelled, or a panic passes
/// through) it is no news of its vendor; a signal that was read but not observed yet is still observed.
#[derive(Debug)]
pub(crate) struct Admitted {
    ticket: Option<Ticket>,
    /// That of its partition, where it has a gate of its own.
    partition: Option<Box<Ticket>>,
    sent: Monotonic,
    /// Whether anything may have been sent: the attempt was polled.
    pub(crate) polled: bool,
    pending: Option<Box<Unsettled>>,
}

impl Admitted {
    /// `ticket` is `None` for a host that has no family, or none yet.
    #[inline]
    pub(crate) const fn new(ticket: Option<Ticket>, sent: Monotonic) -> Self {
        Self { ticket, partition: None, sent, polled: false, pending: None }
    }

    /// The same, let through by its partition's gate too.
    pub(crate) fn and(mut self, partition: Option<Ticket>) -> Self {
        self.partition = partition.map(Box::new);
        self
    }

    /// Whether a family let it through.
    pub(crate) fn was_admitted(&self) -> bool {
        self.ticket.is_some()
    }

    /// When it was let through.
    pub(super) const fn sent(&self) -> Monotonic {
        self.sent
    }

    /// Whether its gate was open, so that a plain answer needs no look at its headers.
    #[inline]
    pub(super) fn was_open(&self) -> bool {
        self.ticket.is_none_or(|ticket| ticket.was_open())
    }

    /// The gate that let it through.
    pub(crate) fn gate(&self) -> Option<Arc<Gate>> {
        self.ticket.as_ref().and_then(Gate::of)
    }

    /// An answer that is no signal, or none of this family.
    #[inline]
    pub(crate) fn settle(&mut self, good: bool) {
        self.pending = None;
        if let Some(partition) = self.partition.take() {
            settle(&partition, good);
        }
        if let Some(ticket) = self.ticket.take() {
            settle(&ticket, good);
        }
    }

    /// A signal whose body is still being looked at: it will be observed even if the caller goes away meanwhile.
    pub(super) fn will_settle(&mut self, unsettled: Unsettled) {
        self.pending = Some(Box::new(unsettled));
    }

    /// A signal of its family. `None` where its gate is gone, or never was.
    pub(crate) fn settle_signal(&mut self, signal: &Said, route: &str) -> Option<Observed> {
        self.pending = None;
        // It says nothing about the part, which is closed with the whole.
        if let Some(partition) = self.partition.take() {
            settle(&partition, false);
        }
        let ticket = self.ticket.take()?;
        observe(&ticket, Outcome::Bad(signal, route))
    }

    /// A signal of one part of its family; no news of the whole. A part that had no gate when the attempt was let through
    /// is closed only if that was after its last strike.
    pub(crate) fn settle_partition(&mut self, partition: &Gate, signal: &Said, route: &str) -> Observed {
        self.pending = None;
        let ticket = match self.partition.take() {
            Some(ticket)
                if Gate::of(&ticket).is_some_and(|gate| std::ptr::eq(&raw const *gate, partition)) =>
            {
                *ticket
            }
            other => {
                // Let through by another part than the one that the vendor names.
                if let Some(ticket) = other {
                    settle(&ticket, false);
                }
                partition.foreign(self.sent)
            }
        };
        let observed = partition.observe(&ticket, Outcome::Bad(signal, route), clock::now());
        events::emit_observed(partition, &observed);
        self.settle(false);
        observed
    }
}

/// An answer that is no signal.
#[inline]
fn settle(ticket: &Ticket, good: bool) {
    let outcome = if good { Outcome::Good } else { Outcome::Neutral };
    if !answered_open(ticket, good, || clock::now().since(ticket.sent())) {
        observe(ticket, outcome);
    }
}

/// Observes an outcome at the gate of its ticket, and tells the operator.
fn observe(ticket: &Ticket, outcome: Outcome<'_>) -> Option<Observed> {
    let gate = Gate::of(ticket)?;
    let observed = gate.observe(ticket, outcome, clock::now());
    events::emit_observed(&gate, &observed);
    Some(observed)
}

impl Drop for Admitted {
    #[inline]
    fn drop(&mut self) {
        // Settled, as most are when they are dropped.
        if self.ticket.is_none() && self.pending.is_none() && self.partition.is_none() {
            return;
        }
        self.abandon();
    }
}

impl Admitted {
    /// Its caller went away before its outcome was known.
    #[cold]
    fn abandon(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.settle(self);
        }
        if self.polled {
            self.settle(false);
            return;
        }
        for ticket in [self.partition.take().map(|ticket| *ticket), self.ticket.take()].into_iter().flatten()
        {
            if !answered_open(&ticket, false, || std::time::Duration::ZERO) {
                observe(&ticket, Outcome::NotSent);
            }
        }
    }
}
