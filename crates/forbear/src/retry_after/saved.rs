use std::sync::Arc;

use forbear_core::budget::Budget as Limits;
use forbear_core::families::FamiliesId;
use forbear_core::gate::{Ask, Gate, Grant, Priority, Refusal, RefusalCause};
use forbear_core::retry::{self, History};
use forbear_core::signal::Signal as Said;
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use http::Request;
use http::request::Parts;

use super::target::Target;
use crate::Error;
use crate::body::{Replay, Tape};
use crate::budget::{self, scope};
use crate::error::{BudgetExhausted, Cooling, Spent};
use crate::extensions::Turn;

/// A request that may be sent again, and what its logical request has been through.
pub(super) struct Saved<S, B> {
    /// A clone of the service, made ready only when something is to be sent.
    pub(super) service: S,
    head: Parts,
    pub(super) tape: Tape<B>,
    pub(super) history: History,
    entered: Option<Monotonic>,
    /// What the last wait ended with.
    pub(super) grant: Option<Grant>,
    waited: bool,
    /// Whether an answer was let go, so that nothing is left to return.
    pub(super) let_go: bool,
    last_signal: Option<Arc<Said>>,
    /// The refusal that the present wait answers.
    pub(super) refusal: Option<Cooling>,
    /// The families of the gate below, where one was found.
    families: Option<FamiliesId>,
}

impl<S, B> Saved<S, B> {
    pub(super) const fn new(service: S, head: Parts, tape: Tape<B>, families: Option<FamiliesId>) -> Self {
        Self {
            service,
            head,
            tape,
            history: History::new(),
            entered: None,
            grant: None,
            waited: false,
            let_go: false,
            last_signal: None,
            refusal: None,
            families,
        }
    }

    /// The budget of the logical request: the one in scope, and the one its request carries.
    pub(super) fn budget(&self) -> Limits {
        budget::effective(&self.head.extensions)
    }

    /// Until when it may wait.
    pub(super) fn wait_limit(&mut self, now: Monotonic) -> Limits {
        let budget = self.budget();
        self.history.wait_limit(&budget, now)
    }

    /// Where it waits for a moment that no family's gate knows of; `None` where nobody could end that wait.
    pub(super) fn waiting_room(&self) -> Option<Arc<Gate>> {
        self.families?.waiting_room()
    }

    pub(super) fn is_safe_to_repeat(&self) -> bool {
        retry::is_safe_to_repeat(&self.head.method, &self.head.headers)
    }

    /// What it is sent to.
    pub(super) fn target(&self) -> Target<'_> {
        Target::of(&self.head.uri, &self.head.headers, &self.head.extensions)
    }

    pub(super) fn saw(&mut self, signal: &Arc<Said>) {
        self.last_signal = Some(Arc::clone(signal));
    }

    /// How it asks for a place in a gate's queue.
    pub(super) fn ask(&mut self, now: Monotonic) -> Ask {
        Ask {
            entered: self.entered(now),
            deadline: self.wait_limit(now).deadline(),
            waited: true,
            priority: self.head.extensions.get::<Priority>().copied().unwrap_or_default(),
            grant: None,
        }
    }

    /// When the logical request entered, as far as is known.
    fn entered(&mut self, now: Monotonic) -> Monotonic {
        *self.entered.get_or_insert_with(|| scope::entered().unwrap_or(now))
    }

    /// The request once more, after a wait. `None` where its body cannot be sent again.
    pub(super) fn again(&mut self, now: Monotonic) -> Option<Request<Replay<B>>> {
        let body = self.tape.rewind()?;
        let mut request = Request::from_parts(self.head.clone(), body);
        let grant = self.grant.as_ref().map(Grant::id);
        if self.waited {
            request.extensions_mut().insert(Turn { entered: self.entered(now), grant });
        }
        Some(request)
    }

    pub(super) fn has_waited(&mut self, grant: Option<Grant>) {
        self.waited = true;
        self.grant = grant;
    }

    /// The refusal that a wait at a gate ended with.
    pub(super) fn refused_by(&mut self, gate: &Arc<Gate>, refusal: &Refusal) -> Cooling {
        match self.refusal.take() {
            Some(last) => last.again(gate, refusal),
            None => Cooling::gate(gate, refusal, RedactedUrl::of(&self.head.uri)),
        }
    }

    /// What a wait that is impossible ends in: the refusal where nothing was sent, else the budget, with the hint that
    /// was not waited for.
    pub(super) fn give_up(&mut self, refusal: Cooling, now: Monotonic) -> Error {
        let over = self.budget().deadline().is_some_and(|deadline| now >= deadline);
        if !over && !self.let_go {
            return Error::Cooling(refusal);
        }
        if let Some(signal) = refusal.signal() {
            self.last_signal = Some(Arc::new(signal.clone()));
        }
        let what = match refusal.cause() {
            _ if over => Spent::Time,
            RefusalCause::ShuttingDown => Spent::ShuttingDown,
            _ => Spent::NextWait,
        };
        self.exhausted(what, now)
    }

    /// The budget is spent.
    pub(super) fn exhausted(&self, what: Spent, now: Monotonic) -> Error {
        let entered = scope::entered().or(self.entered);
        let spent = entered.map(|entered| now.since(entered)).unwrap_or_default();
        let attempts = scope::attempts().unwrap_or_else(|| self.history.limited());
        Error::BudgetExhausted(BudgetExhausted::new(what, spent, attempts, self.last_signal.clone()))
    }

    /// The deadline of an earlier logical request stands, and waiting for it is impossible.
    pub(super) fn refused_until(&self, until: Monotonic, family: Option<Arc<str>>) -> Cooling {
        let Target { uri, host, .. } = self.target();
        let family = family.unwrap_or_else(|| uri.host().or(host).unwrap_or_default().into());
        Cooling::recorded(until, RedactedUrl::of(uri), family)
    }
}
