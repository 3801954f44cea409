//! Whether an item need not be sent to know that it would be refused.

use std::sync::Arc;

use forbear_core::families::{FamiliesId, FamilyName, Found, Snapshot};
use forbear_core::gate::{Ask, Gate};
use forbear_core::url::RedactedUrl;
use http::{Request, Uri};

use super::flight::Below;
use super::holds::Holds;
use super::places::Line;
use super::state::Moment;
use super::watch::Of;
use crate::error::Cooling;
use crate::host;
use crate::whose::Whose;

/// The families of the service, as far as they are known.
pub(super) struct Gates(Option<Snapshot>);

/// Where an item was sent.
pub(super) struct First {
    uri: Uri,
    host: Option<Box<str>>,
    name: Option<FamilyName>,
}

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
    ) -> (Met, Line, Of) {
        let host = host::of(request.uri(), request.headers());
        // Of the first one, which goes alone, nobody knows whose it is.
        let known = self.are_known() || below.get().is_some();
        let of_host = || if known { Line::of_host(request.uri(), host) } else { Line::default() };
        let Some(families) = self.families(below) else { return (Met::Nobody, of_host(), Of::Unknown) };
        let (member, line, of) =
            match families.find(request.uri(), host, request.extensions().get::<FamilyName>()) {
                Found::Member(member) => {
                    let of = Of::Family(Arc::clone(member.gate.name()));
                    (Arc::clone(member), Line::of_family(member), of)
                }
                Found::Automatic(member) => (member, of_host(), Of::Automatic),
                _ => return (Met::Nobody, of_host(), Of::Automatic),
            };
        if families.shadows() {
            return (Met::Nobody, line, of);
        }
        let part = Whose::of_request(request, &member, at.now).part;
        for gate in part.iter().chain([&member.gate]) {
            if holds.holds(gate) {
                return (Met::Behind(Arc::clone(gate)), line, of);
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
                return (Met::Refused(Cooling::gate(gate, &refusal, url)), line, of);
            }
        }
        (Met::Nobody, line, of)
    }

    /// Whose the first one was.
    pub(super) fn whose(&mut self, below: &Below, first: &First) -> Of {
        let Some(families) = self.families(below) else { return Of::Unknown };
        match families.find(&first.uri, first.host.as_deref(), first.name.as_ref()) {
            Found::Member(member) => Of::Family(Arc::clone(member.gate.name())),
            _ => Of::Automatic,
        }
    }
}

impl First {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let host = host::of(request.uri(), request.headers());
        let name = request.extensions().get::<FamilyName>().cloned();
        Self { uri: request.uri().clone(), host: host.map(Into::into), name }
    }
}
