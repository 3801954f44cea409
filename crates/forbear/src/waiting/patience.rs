use std::sync::Arc;

use forbear_core::budget::Budget as Limits;
use forbear_core::gate::{Ask, Gate, Grant, Place, Priority, Refusal, RefusalCause};
use forbear_core::retry::History;
use forbear_core::signal::Signal as Said;
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use http::Uri;

use super::wait::Wait;
use crate::budget::scope;
use crate::error::{BudgetExhausted, Cooling, Spent};
use crate::{Error, clock, events};

/// What a logical request may spend, and who it is.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) budget: Limits,
    pub(crate) priority: Priority,
    /// `None` where it is not HTTP.
    pub(crate) uri: Option<&'a Uri>,
}

/// What one logical request has been through, and how much longer it waits.
pub(crate) struct Patience {
    pub(crate) history: History,
    entered: Option<Monotonic>,
    /// What the last wait ended with.
    pub(crate) grant: Option<Grant>,
    pub(crate) waited: bool,
    /// Whether an answer was let go, so that nothing is left to return.
    pub(crate) let_go: bool,
    last_signal: Option<Arc<Said>>,
    /// The refusal that the present wait answers.
    refusal: Option<Cooling>,
}

impl Patience {
    pub(crate) const fn new() -> Self {
        Self {
            history: History::new(),
            entered: None,
            grant: None,
            waited: false,
            let_go: false,
            last_signal: None,
            refusal: None,
        }
    }

    /// Until when it may wait.
    pub(crate) fn limit(&mut self, caller: &Caller<'_>, now: Monotonic) -> Limits {
        self.history.wait_limit(&caller.budget, now)
    }

    /// When the logical request entered, as far as is known.
    pub(crate) fn entered(&mut self, now: Monotonic) -> Monotonic {
        *self.entered.get_or_insert_with(|| scope::entered().unwrap_or(now))
    }

    pub(crate) fn saw(&mut self, signal: &Arc<Said>) {
        self.last_signal = Some(Arc::clone(signal));
    }

    pub(crate) fn has_waited(&mut self, grant: Option<Grant>) {
        self.waited = true;
        self.grant = grant;
    }

    /// Waits until a gate, and what the caller was told itself, allow another attempt.
    ///
    /// # Errors
    /// Where that is impossible: what the logical request ends in.
    pub(crate) fn park(
        &mut self,
        gate: &Arc<Gate>,
        own: Monotonic,
        caller: &Caller<'_>,
        now: Monotonic,
    ) -> Result<Box<Wait>, Error> {
        let place = self.place(gate, (own, None), caller, now);
        place
            .map(|place| Box::new(Wait::at_gate(place)))
            .map_err(|refusal| self.ended(gate, &refusal, caller))
    }

    /// Waits in the waiting room until a deadline that an earlier logical request recorded; `cooling` says so.
    ///
    /// # Errors
    /// Where that is impossible: what the logical request ends in.
    pub(crate) fn recorded(
        &mut self,
        room: &Arc<Gate>,
        until: Monotonic,
        cooling: Cooling,
        caller: &Caller<'_>,
        now: Monotonic,
    ) -> Result<Box<Wait>, Error> {
        self.refusal = Some(cooling);
        let place = self.place(room, (until, None), caller, now);
        place
            .map(|place| Box::new(Wait::recorded_in(place)))
            .map_err(|refusal| self.ended(room, &refusal, caller))
    }

    /// The gate refused, and nothing was sent: waits that out where it fits.
    ///
    /// # Errors
    /// Where that is impossible: what the logical request ends in.
    pub(crate) fn refused(&mut self, cooling: Cooling, caller: &Caller<'_>) -> Result<Box<Wait>, Error> {
        let now = clock::now();
        let Some(wait) = cooling.wait() else { return Err(self.give_up(cooling, caller, now)) };
        // While a probe is out nobody knows the end: who has budget waits for the verdict.
        let known = cooling.known_retry_at().filter(|_| cooling.cause() != RefusalCause::Probing);
        if known.is_some_and(|until| !self.limit(caller, now).fits(until)) {
            return Err(self.give_up(cooling, caller, now));
        }
        match self.place(&wait.gate, (now, Some(wait.refused_at)), caller, now) {
            Ok(place) => {
                self.refusal = Some(cooling);
                Ok(Box::new(Wait::at_gate(place)))
            }
            Err(refusal) => {
                let gate = Arc::clone(&wait.gate);
                Err(self.give_up(cooling.again(&gate, &refusal), caller, now))
            }
        }
    }

    /// A place in a gate's queue.
    fn place(
        &mut self,
        gate: &Arc<Gate>,
        (not_before, refused_at): (Monotonic, Option<Monotonic>),
        caller: &Caller<'_>,
        now: Monotonic,
    ) -> Result<Place, Refusal> {
        let ask = Ask {
            entered: self.entered(now),
            deadline: self.limit(caller, now).deadline(),
            waited: true,
            priority: caller.priority,
            grant: None,
        };
        let (place, news) = gate.place(&ask, (not_before, fastrand::f64()), refused_at, now);
        events::emit(gate, &news);
        place
    }

    /// A wait at a gate ended in a refusal.
    pub(crate) fn ended(&mut self, gate: &Arc<Gate>, refusal: &Refusal, caller: &Caller<'_>) -> Error {
        let refusal = match self.refusal.take() {
            Some(last) => last.again(gate, refusal),
            None => Cooling::gate(gate, refusal, caller.uri.map(RedactedUrl::of)),
        };
        self.give_up(refusal, caller, clock::now())
    }

    /// What a wait that is impossible ends in: the refusal where nothing was sent, else the budget, with the hint that
    /// was not waited for.
    pub(crate) fn give_up(&mut self, refusal: Cooling, caller: &Caller<'_>, now: Monotonic) -> Error {
        let over = !caller.budget.fits(now);
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
        Error::BudgetExhausted(self.spent(what, now).refused_by(&refusal))
    }

    /// The budget is spent.
    pub(crate) fn exhausted(&self, what: Spent, now: Monotonic) -> Error {
        Error::BudgetExhausted(self.spent(what, now))
    }

    fn spent(&self, what: Spent, now: Monotonic) -> BudgetExhausted {
        let entered = scope::entered().or(self.entered);
        let spent = entered.map(|entered| now.since(entered)).unwrap_or_default();
        let attempts = scope::attempts().unwrap_or_else(|| self.history.limited());
        BudgetExhausted::new(what, spent, attempts, self.last_signal.clone())
    }
}
