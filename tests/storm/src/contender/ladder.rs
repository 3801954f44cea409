//! One ladder for the whole program: after a 429 every call, to whatever host, is refused for 5 s, doubled with each
//! strike up to 5 min; a good answer after it leads back to the first rung. Calls do not wait: what fails is tried in the
//! next pass.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use super::{Client, World, is_limited};

const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);

struct Ladder {
    until: Instant,
    rung: Duration,
}

pub(super) fn client(world: &World) -> Client {
    let ladder = Arc::new(Mutex::new(Ladder { until: Instant::now(), rung: FIRST }));
    let (wire, deadline) = (world.wire.clone(), world.deadline);
    Rc::new(move |_, request| {
        let (wire, ladder) = (wire.clone(), Arc::clone(&ladder));
        Box::pin(async move {
            let sent = Instant::now();
            let with = |change: &dyn Fn(&mut Ladder) -> bool| {
                change(&mut ladder.lock().unwrap_or_else(PoisonError::into_inner))
            };
            if with(&|ladder| sent < ladder.until) {
                return false;
            }
            let Ok(Ok(answer)) = timeout(deadline, wire.oneshot(request)).await else { return false };
            if is_limited(&answer) {
                with(&|ladder| ladder.strike(sent));
                return false;
            }
            with(&|ladder| ladder.good(sent));
            answer.status().is_success()
        })
    })
}

impl Ladder {
    /// An attempt that was sent at `sent` was refused. What was sent before the last cool-down says nothing new.
    fn strike(&mut self, sent: Instant) -> bool {
        let fresh = sent >= self.until;
        if fresh {
            self.until = Instant::now() + self.rung;
            self.rung = (self.rung * 2).min(LONGEST);
        }
        fresh
    }

    fn good(&mut self, sent: Instant) -> bool {
        let fresh = sent >= self.until;
        if fresh {
            self.rung = FIRST;
        }
        fresh
    }
}
