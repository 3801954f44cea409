//! Scripts, limits, outages and the log, which both faces of a vendor share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::attempt::Received;
use crate::limiter::Slot;
use crate::outage::{Outages, Planned};
use crate::receive::Answer;
use crate::script::{Next, Script};
use crate::{Attempt, Attempts, Limiter, Reply, reply};

#[derive(Debug, Default)]
pub(crate) struct Engine {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    default: Option<Script>,
    routes: HashMap<String, Script>,
    limits: Vec<Limiter>,
    outages: Outages,
    log: Vec<Attempt>,
}

impl Engine {
    // The old script is dropped after the lock is let go: its closure may own anything, this vendor too.
    pub(crate) fn set_script(&self, script: Script) {
        let old = self.lock().default.replace(script);
        drop(old);
    }

    pub(crate) fn set_route(&self, path: &str, script: Script) {
        let old = self.lock().routes.insert(path.to_owned(), script);
        drop(old);
    }

    pub(crate) fn add_limit(&self, limiter: Limiter) {
        self.lock().limits.push(limiter);
    }

    pub(crate) fn plan_outage(&self, planned: Planned) {
        self.lock().outages.planned.push(planned);
    }

    pub(crate) fn switch_outage(&self, script: Option<Script>) {
        let old = std::mem::replace(&mut self.lock().outages.switched_on, script);
        drop(old);
    }

    /// Logs the request and decides on its answer.
    pub(crate) fn answer(&self, received: Received) -> Answer {
        self.answer_as(received, |reply| reply)
    }

    /// The same for a face that cannot send every reply: it logs and answers what `face` makes of it.
    pub(crate) fn answer_as(&self, received: Received, face: impl FnOnce(Reply) -> Reply) -> Answer {
        let (attempt, decision) = {
            let mut state = self.lock();
            let attempt = state.record(received);
            let decision = state.decide(&attempt);
            state.note_refusal(&attempt, decision.turned_away);
            (attempt, decision)
        };
        // Not under the lock: a closure may look at the vendor.
        let reply = face(decision.next.resolve(&attempt));
        self.lock().close(&attempt, &reply);
        Answer { reply, slots: decision.slots }
    }

    /// Logs a request whose body broke off. Neither script nor limit moves: the vendor never got to it.
    pub(crate) fn reject(&self, received: Received) -> Answer {
        let reply = reply(400).body("the request's body broke off");
        let mut state = self.lock();
        let attempt = state.record(received);
        state.close(&attempt, &reply);
        Answer { reply, slots: Vec::new() }
    }

    pub(crate) fn attempts(&self, route: Option<&str>) -> Attempts {
        let state = self.lock();
        let wanted = |attempt: &&Attempt| route.is_none_or(|route| attempt.path() == route);
        Attempts {
            list: state.log.iter().filter(wanted).cloned().collect(),
            which: "attempts",
            route: route.map(str::to_owned),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an attempt gets, and what it holds meanwhile.
struct Decision {
    next: Next,
    /// By an outage or a limit; the script was not asked.
    turned_away: bool,
    slots: Vec<Slot>,
}

impl State {
    /// Asks outages, then limits, then the script.
    fn decide(&mut self, attempt: &Attempt) -> Decision {
        let (path, now) = (attempt.path(), attempt.since());
        if let Some(next) = self.outages.next(now) {
            return Decision { next, turned_away: true, slots: Vec::new() };
        }
        let mut limits: Vec<_> = self.limits.iter_mut().filter(|limit| limit.covers(path)).collect();
        // All are asked before any counts it: what one limit refuses uses up nothing of another.
        for limit in &mut limits {
            if let Some(wait) = limit.wait(now) {
                let next = Next::Refuse(limit.answer(), wait);
                return Decision { next, turned_away: true, slots: Vec::new() };
            }
        }
        let slots = limits.into_iter().filter_map(|limit| limit.admit(now)).collect();
        Decision { next: self.next(path), turned_away: false, slots }
    }

    fn next(&mut self, path: &str) -> Next {
        match self.routes.get_mut(path).or(self.default.as_mut()) {
            Some(script) => script.next(),
            None => Next::Reply(reply(501).body(format!(
                "forbear-mock: no script for {path}: give the vendor one with `script` or `route`"
            ))),
        }
    }

    /// Reads the clock under the lock, so that the order of the log is the order of its times.
    fn record(&mut self, received: Received) -> Attempt {
        let at = Instant::now();
        let since = self.log.first().map_or(Duration::ZERO, |first| at.duration_since(first.at));
        let number = self.log.len() + 1;
        let attempt =
            Attempt { number, at, since, received: Arc::new(received), answer: None, turned_away: false };
        self.log.push(attempt.clone());
        attempt
    }

    fn note_refusal(&mut self, attempt: &Attempt, turned_away: bool) {
        if let Some(logged) = self.log.get_mut(attempt.number - 1) {
            logged.turned_away = turned_away;
        }
    }

    fn close(&mut self, attempt: &Attempt, reply: &Reply) {
        if let Some(logged) = self.log.get_mut(attempt.number - 1) {
            logged.answer = Some(reply.clone());
        }
    }
}
