//! Whether an item need not be sent to know that it would be refused.

use std::sync::Arc;

use forbear_core::families::{FamiliesId, FamilyName, Found, Snapshot};
use forbear_core::gate::{Ask, Gate};
use forbear_core::url::RedactedUrl;
use http::Request;

use super::flight::Below;
use super::holds::Holds;
use super::places::Line;
use super::state::Moment;
use crate::error::Cooling;
use crate::host;
use crate::whose::Whose;

/// The families of the service, as far as they are known.
pub(super) struct Gates(Option<Snapshot>);

/// What stands in an item's way.
pub(super) enum Met {
    /// Others are held back for this gate: it stands behind them.
    Behind(Arc<Gate>),
    /// A gate refuses it.
    Refused(Cooling),
    /// Nothing that is known here.
    Nobody,
}

impl Gates {
    pub(super) const fn new(families: Option<Snapshot>) -> Self {
        Self(families)
    }

    pub(super) const fn are_known(&self) -> bool {
        self.0.is_some()
    }

    fn families(&mut self, below: &Below) -> Option<&mut Snapshot> {
        if self.0.is_none() {
            self.0 = below
                .get()
                .copied()
                .flatten()
                .and_then(FamiliesId::families)
                .map(|families| families.snapshot());
        }
        let families = self.0.as_mut()?;
        families.refresh();
        Some(families)
    }

    /// Where an item waits for a moment of its own, so that a shutdown ends that.
    pub(super) fn waiting_room(&mut self, below: &Below) -> Option<Arc<Gate>> {
        self.families(below)?.id().waiting_room()
    }

    /// Looks for the gates that a request would meet, and whose places it takes.
    pub(super) fn meet<T, B>(
        &mut self,
        below: &Below,
        holds: &Holds<T>,
        request: &Request<B>,
        at: Moment,
    ) -> (Met, Line) {
        let host = host::of(request.uri(), request.headers());
        // Of the first one, which goes alone, nobody knows whose it is.
        let known = self.are_known() || below.get().is_some();
        let of_host = || if known { Line::of_host(request.uri(), host) } else { Line::default() };
        let Some(families) = self.families(below).filter(|families| !families.shadows()) else {
            return (Met::Nobody, of_host());
        };
        let (member, line) =
            match families.find(request.uri(), host, request.extensions().get::<FamilyName>()) {
                Found::Member(member) => (Arc::clone(member), Line::of_family(member)),
                Found::Automatic(member) => (member, of_host()),
                _ => return (Met::Nobody, of_host()),
            };
        let part = Whose::of_request(request, &member, at.now).part;
        for gate in part.iter().chain([&member.gate]) {
            if holds.holds(gate) {
                return (Met::Behind(Arc::clone(gate)), line);
            }
            let ask = Ask {
                entered: at.now,
                deadline: at.budget.deadline(),
                waited: false,
                priority: request.extensions().get().copied().unwrap_or_default(),
                grant: None,
            };
            if let Some(refusal) = gate.look(&ask, at.now) {
                let url = Some(RedactedUrl::of(request.uri()));
                return (Met::Refused(Cooling::gate(gate, &refusal, url)), line);
            }
        }
        (Met::Nobody, line)
    }
}
