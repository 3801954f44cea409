use std::sync::Arc;

use forbear_core::families::FamiliesId;
use forbear_core::gate::{Gate, RefusalCause};
use forbear_core::retry;
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use http::Request;
use http::request::Parts;

use super::target::Target;
use crate::body::{Replay, Tape};
use crate::budget;
use crate::error::Cooling;
use crate::extensions::Turn;
use crate::waiting::{Caller, Patience};

/// A request that may be sent again, and what its logical request has been through.
pub(super) struct Saved<S, B> {
    /// A clone of the service, made ready only when something is to be sent.
    pub(super) service: S,
    pub(super) head: Parts,
    pub(super) tape: Tape<B>,
    pub(super) patience: Patience,
    /// Says that it waits, to who wants to know.
    #[cfg(feature = "stale")]
    standing: Option<crate::parking::Standing>,
    /// The families of the gate below, where one was found.
    families: Option<FamiliesId>,
}

/// The caller as its request has it: the budget that it carries and the one in scope.
pub(super) fn caller(head: &Parts) -> Caller<'_> {
    Caller {
        budget: budget::effective(&head.extensions),
        priority: head.extensions.get().copied().unwrap_or_default(),
        uri: Some(&head.uri),
    }
}

impl<S, B> Saved<S, B> {
    pub(super) const fn new(service: S, head: Parts, tape: Tape<B>, families: Option<FamiliesId>) -> Self {
        Self {
            service,
            head,
            tape,
            patience: Patience::new(),
            #[cfg(feature = "stale")]
            standing: None,
            families,
        }
    }

    /// It waits, or does so no longer.
    #[cfg(feature = "stale")]
    pub(super) fn stands(&mut self, waits: bool) {
        if !waits {
            self.standing = None;
        } else if self.standing.is_none() {
            self.standing = crate::parking::Standing::begin(&self.head.extensions);
        }
    }

    /// Where it waits for a moment that no family's gate knows of; `None` where nobody could end that wait.
    pub(super) fn waiting_room(&self) -> Option<Arc<Gate>> {
        self.families?.waiting_room()
    }

    pub(super) fn is_safe_to_repeat(&self) -> bool {
        retry::is_safe_to_repeat(&self.head.method, &self.head.headers)
    }

    /// Whether its caller counts attempts itself: two that send again multiply.
    pub(super) fn is_sent_again_above(&self) -> bool {
        retry::declares_attempt(&self.head.headers)
    }

    /// What it is sent to.
    pub(super) fn target(&self) -> Target<'_> {
        Target::of(&self.head.uri, &self.head.headers, &self.head.extensions)
    }

    /// The request once more, after a wait. `None` where its body cannot be sent again.
    pub(super) fn again(&mut self, now: Monotonic) -> Option<Request<Replay<B>>> {
        let body = self.tape.rewind()?;
        let mut request = Request::from_parts(self.head.clone(), body);
        if self.patience.waited {
            let grant = self.patience.grant.as_ref().map(forbear_core::gate::Grant::id);
            let (entered, sent) = (self.patience.entered(now), self.patience.history.limited() > 0);
            request.extensions_mut().insert(Turn { entered, grant, sent });
        }
        Some(request)
    }

    /// Counts a refusal where an operator looks for it: at the family that the URL was charged to.
    pub(super) fn count_refusal(&self, family: Option<&str>, cause: RefusalCause) {
        if let (Some(families), Some(family)) = (self.families, family) {
            families.count_refusal(family, cause);
        }
    }

    /// The deadline of an earlier logical request stands, and waiting for it is impossible.
    pub(super) fn refused_until(&self, until: Monotonic, family: Option<Arc<str>>) -> Cooling {
        let Target { uri, host, .. } = self.target();
        let family = family.unwrap_or_else(|| uri.host().or(host).unwrap_or_default().into());
        Cooling::recorded(until, RedactedUrl::of(uri), family)
    }
}
