//! tower-resilience 0.13: its retry around its circuit breaker.
//!
//! | it | as set up |
//! |---|---|
//! | retry | up to three attempts after 100 ms, doubled, ± half; after 429 and 503, not after an open circuit; an AIMD retry budget of 10 to 100 |
//! | breaker | 429 and 503 are failures; opens after ten running, for 5 s; three trial calls |
//!
//! Of its clocks: the retry sleeps on tokio's clock, and its AIMD budget has none. Its random backoff draws from a
//! generator that cannot be seeded, so the same rule is given to it as a function. The breaker asks `std`'s clock, which no
//! paused clock moves, whether its circuit was open for long enough. So it is told that no time is enough, and a gate
//! before it refuses, as an open circuit does, for 5 s of tokio's clock from when the breaker says that it opens. Its
//! time-based window reads `std`'s clock for each call, and its window of a number of calls counts all since it last
//! closed: hence failures in a row, a model that it has too.

use std::future::{Ready, ready};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::Either;
use http::Request;
use tokio::time::Instant;
use tower::{Layer, Service};
use tower_resilience::circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer, CircuitState};
use tower_resilience::retry::{FnInterval, RetryBudgetBuilder, RetryLayer};

use super::{Answer, Body, Client, World, around, is_limited};

const FIRST: Duration = Duration::from_millis(100);
const ATTEMPTS: usize = 3;
const RETRIES: (usize, usize) = (10, 100);
const FAILURES: usize = 10;
const OPEN: Duration = Duration::from_secs(5);
const TRIALS: usize = 3;

type Failure = CircuitBreakerError<io::Error>;

pub(super) fn client(world: &World) -> Client {
    let until = Arc::new(Mutex::new(Instant::now()));
    let opened = Arc::clone(&until);
    let breaker = CircuitBreakerLayer::builder()
        .consecutive_failures(FAILURES)
        .permitted_calls_in_half_open(TRIALS)
        .wait_duration_in_open(Duration::ZERO)
        .failure_classifier(|answer: &io::Result<Answer>| answer.as_ref().map_or(true, is_limited))
        .on_state_transition(move |_, to| {
            if to == CircuitState::Open {
                *opened.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + OPEN;
            }
        })
        .build()
        .expect("a valid breaker");
    let budget = RetryBudgetBuilder::new().aimd().min_budget(RETRIES.0).max_budget(RETRIES.1).build();
    let retry = RetryLayer::<Request<Body>, Answer, Failure>::builder()
        .max_attempts(ATTEMPTS)
        .backoff(FnInterval::new(backoff))
        .retry_on(|failure: &Failure| !failure.is_circuit_open())
        .retry_on_response(is_limited)
        .budget(budget.expect("a valid budget"))
        .build();
    let inner = HeldOpen { inner: breaker.layer(world.wire.clone()), until };
    around(retry.layer(inner), world.deadline)
}

fn backoff(attempt: usize) -> Duration {
    let doubled = FIRST * 2_u32.saturating_pow(u32::try_from(attempt).unwrap_or(u32::MAX));
    doubled.mul_f64(0.5 + fastrand::f64())
}

/// Refuses for as long as the breaker behind it is to stay open, by tokio's clock.
#[derive(Clone)]
struct HeldOpen<S> {
    inner: S,
    until: Arc<Mutex<Instant>>,
}

impl<S, R> Service<R> for HeldOpen<S>
where
    S: Service<R, Response = Answer, Error = Failure>,
{
    type Response = Answer;
    type Error = Failure;
    type Future = Either<Ready<Result<Answer, Failure>>, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        if Instant::now() < *self.until.lock().unwrap_or_else(PoisonError::into_inner) {
            return Either::Left(ready(Err(CircuitBreakerError::OpenCircuit)));
        }
        Either::Right(self.inner.call(request))
    }
}
