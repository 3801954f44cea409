//! tower's `Retry`: up to four more attempts after 100 ms, doubled each time and jittered, as far as tower's retry budget
//! lets it (its default: 10 per second and a fifth of the calls).

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use tower::Layer;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, RetryLayer};
use tower::util::rng::Rng;

use super::{Answer, Body, Client, World, around, is_limited};

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
const MORE: u32 = 4;

pub(super) fn client(world: &World) -> Client {
    let backoff = ExponentialBackoffMaker::new(FIRST, LONGEST, 0.5, Seeded);
    let backoff = backoff.expect("a valid backoff").make_backoff();
    let policy = Careful { backoff, budget: Arc::new(TpsBudget::default()), left: MORE };
    around(RetryLayer::new(policy).layer(world.wire.clone()), world.deadline)
}

/// The thread's generator, which each run seeds.
#[derive(Debug, Clone)]
struct Seeded;

impl Rng for Seeded {
    fn next_u64(&mut self) -> u64 {
        fastrand::u64(..)
    }
}

#[derive(Debug, Clone)]
struct Careful {
    backoff: ExponentialBackoff<Seeded>,
    budget: Arc<TpsBudget>,
    left: u32,
}

impl<E> Policy<Request<Body>, Answer, E> for Careful {
    type Future = <ExponentialBackoff<Seeded> as Backoff>::Future;

    fn retry(&mut self, _: &mut Request<Body>, answer: &mut Result<Answer, E>) -> Option<Self::Future> {
        if !answer.as_ref().is_ok_and(is_limited) {
            self.budget.deposit();
            return None;
        }
        if self.left == 0 || !self.budget.withdraw() {
            return None;
        }
        self.left -= 1;
        Some(self.backoff.next_backoff())
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        Some(request.clone())
    }
}
