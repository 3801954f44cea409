use std::sync::Arc;

use forbear_core::dialect::Verdict;
use forbear_core::gate::Gate;
use forbear_core::signal::Signal;
use forbear_core::time::Monotonic;

use super::FamilyGate;
use super::future::Asked;
use crate::budget::{self, attempt, scope};
use crate::cooldown::Admitted;
use crate::pacing::Booked;
use crate::whose::Counted;
use crate::{Error, clock};

/// What runs, and what its output is charged to.
pub(super) struct Begun {
    pub(super) admitted: Admitted,
    pub(super) counted: Counted,
    pub(super) suspect: bool,
    /// Where its family is paced: it is in flight until its output.
    pub(super) booked: Option<Booked>,
}

impl Begun {
    /// Nobody let it through, and nobody is told what comes out.
    pub(super) fn unobserved(now: Monotonic) -> Self {
        Self { admitted: Admitted::new(None, now), counted: Counted::default(), suspect: false, booked: None }
    }

    /// Counts it as an attempt of all budgets around it.
    pub(super) fn counted(self) -> Result<Asked, Error> {
        if attempt::pass() { Ok(Asked::Go(self)) } else { Err(budget::out_of_attempts()) }
    }

    pub(super) fn sent(&mut self) {
        self.admitted.polled = true;
        if let Some(booked) = &mut self.booked {
            booked.sent = true;
        }
    }

    /// Tells the family what came out.
    pub(super) fn settle(mut self, verdict: Verdict, gate: &FamilyGate) {
        let route = gate.named();
        match verdict {
            Verdict::Bad(signal) => {
                let signal = Arc::new(signal);
                scope::saw(&signal);
                self.limited(&signal, gate);
            }
            Verdict::Good => {
                if let Some(gate) = self.admitted.gate().filter(|_| self.suspect) {
                    gate.route_accepted(route);
                }
                self.admitted.settle(true);
                if let Some(booked) = &self.booked {
                    booked.good();
                }
            }
            _ => self.admitted.settle(false),
        }
    }

    fn limited(&mut self, signal: &Signal, gate: &FamilyGate) {
        let (route, now) = (gate.named(), clock::now());
        let part = |family: &Gate| self.counted.part(signal, family, route, now).filter(|_| !signal.aged);
        match self.admitted.gate().map(|family| part(&family)) {
            Some(Some(part)) => {
                let _ = self.admitted.settle_partition(&part, signal, route);
            }
            Some(None) => {
                let _ = self.admitted.settle_signal(signal, route);
            }
            // Its family is gone, and another may have its name by now: the vendor is the same.
            None if self.admitted.was_admitted() => {
                self.admitted.settle(false);
                if let Ok(member) = gate.member(now) {
                    let part = part(&member.gate);
                    let struck = part.as_ref().unwrap_or(&member.gate);
                    let _ = self.admitted.settle_partition(struck, signal, route);
                }
            }
            None => {}
        }
    }
}
