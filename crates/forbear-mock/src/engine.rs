//! The script and the log, which both faces of a vendor share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::attempt::Received;
use crate::script::{Next, Script};
use crate::{Attempt, Attempts, Reply, reply};

#[derive(Debug, Default)]
pub(crate) struct Engine {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    default: Option<Script>,
    routes: HashMap<String, Script>,
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

    /// Logs the request and plays its route's next reply.
    pub(crate) fn answer(&self, received: Received) -> Reply {
        let (attempt, next) = {
            let mut state = self.lock();
            let next = state.next(&received.path);
            (state.record(received), next)
        };
        // Not under the lock: a closure may look at the vendor.
        let reply = next.resolve(&attempt);
        self.lock().close(&attempt, &reply);
        reply
    }

    /// Logs a request whose body broke off. The script does not move: the vendor never got to it.
    pub(crate) fn reject(&self, received: Received) -> Reply {
        let reply = reply(400).body("the request's body broke off");
        let mut state = self.lock();
        let attempt = state.record(received);
        state.close(&attempt, &reply);
        reply
    }

    pub(crate) fn attempts(&self, route: Option<&str>) -> Attempts {
        let state = self.lock();
        let wanted = |attempt: &&Attempt| route.is_none_or(|route| attempt.path() == route);
        Attempts { list: state.log.iter().filter(wanted).cloned().collect(), route: route.map(str::to_owned) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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
        let attempt = Attempt { number, at, since, received: Arc::new(received), answer: None };
        self.log.push(attempt.clone());
        attempt
    }

    fn close(&mut self, attempt: &Attempt, reply: &Reply) {
        if let Some(logged) = self.log.get_mut(attempt.number - 1) {
            logged.answer = Some(reply.clone());
        }
    }
}
