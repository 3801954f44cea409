//! The readied instance is the one that is called, and readiness holds nothing scarce.

use std::task::{Context, Poll};
use std::time::Duration;

use forbear::{BudgetLayer, FamilyCooldownLayer, Pacing, PacingLayer, RetryAfterLayer};
use forbear_mock::{MockVendor, reply};
use http::{Request, Response, StatusCode};
use tokio::time::{Instant, timeout};
use tower::buffer::Buffer;
use tower::limit::{ConcurrencyLimit, RateLimit};
use tower::load_shed::LoadShed;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::support::{Body, SECOND, get, impatient, paced, registered, settle};

/// Panics where it is called without having been made ready, itself and not a clone of it.
struct Strict<S> {
    inner: S,
    ready: bool,
    /// How often it is pending before it is ready.
    slow: bool,
}

impl<S> Strict<S> {
    const fn new(inner: S) -> Self {
        Self { inner, ready: false, slow: true }
    }
}

impl<S: Clone> Clone for Strict<S> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone())
    }
}

impl<S: Service<R>, R> Service<R> for Strict<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if std::mem::take(&mut self.slow) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.ready = true;
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        assert!(std::mem::take(&mut self.ready), "called without having been made ready");
        self.slow = true;
        self.inner.call(request)
    }
}

/// Two calls: a limited answer and what comes after it, waited for where the layer waits; then a plain answer.
async fn exercise<S, RB>(mut service: S)
where
    S: Service<Request<Body>, Response = Response<RB>> + Clone,
    S::Error: std::fmt::Debug,
{
    for _ in 0..3 {
        let first = service.ready().await.unwrap().call(get("/a")).await;
        let mut clone = service.clone();
        let second = clone.ready().await.unwrap().call(get("/a")).await;
        let third = service.ready().await.unwrap().call(get("/b")).await;
        for answer in [first, second, third].into_iter().flatten() {
            assert!([StatusCode::OK, StatusCode::TOO_MANY_REQUESTS].contains(&answer.status()));
        }
        tokio::time::sleep(10 * SECOND).await;
    }
}

// joshrotenberg/tower-resilience#286, joshrotenberg/tower-resilience#293, tower-rs/tower#547: a clone was called
// that nobody had made ready.
#[tokio::test(start_paused = true)]
async fn every_layer_calls_the_instance_that_was_made_ready() {
    macro_rules! over {
        ($($client:expr),+ $(,)?) => {$(
            exercise(BudgetLayer::new(30 * SECOND).layer($client)).await;
            exercise(RetryAfterLayer::new().layer($client)).await;
            exercise(FamilyCooldownLayer::new(registered()).layer($client)).await;
            exercise(forbear::stack(&registered()).budget(30 * SECOND).layer($client)).await;
            // At once, and after a wait for their turn.
            for pacing in [Pacing::new().gap(SECOND), Pacing::new().in_flight(1)] {
                let families = paced(pacing);
                exercise(PacingLayer::new(families.clone()).layer($client)).await;
                exercise(forbear::stack(&families).budget(30 * SECOND).layer($client)).await;
            }
        )+};
    }
    let mock = || {
        let script = [reply(429).retry_after(1), reply(200), reply(429).retry_after(0), reply(200).times(3)];
        Strict::new(MockVendor::in_process().script(script).service())
    };
    over!(
        mock(),
        Buffer::new(mock(), 1),
        ConcurrencyLimit::new(mock(), 1),
        Buffer::new(RateLimit::new(mock(), tower::limit::rate::Rate::new(1, SECOND)), 2),
        LoadShed::new(ConcurrencyLimit::new(mock(), 1)),
    );
}

/// Sends in a task of its own, up to its first wait. The service lives on meanwhile, as one does that is used again.
async fn send_and_park<S, RB>(service: &S, request: Request<Body>)
where
    S: Service<Request<Body>, Response = Response<RB>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    RB: Send + 'static,
{
    let mut service = service.clone();
    drop(tokio::spawn(async move { service.ready().await?.call(request).await.map(|_| ()) }));
    settle().await;
}

fn other_host() -> Request<Body> {
    Request::get("http://other.test/").body(Body::default()).unwrap()
}

// tower-rs/tower#408, tower-rs/tower#434, ZcashFoundation/zebra#1593, hyperium/hyper-util#297: services that were
// ready but not called held every slot.
#[tokio::test(start_paused = true)]
async fn a_clone_that_is_ready_and_idle_keeps_nobody_from_sending() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(1), reply(200)]);
    let vendor = forbear::stack(&registered()).budget(30 * SECOND).layer(mock.service());
    assert_eq!(vendor.clone().oneshot(impatient("/")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(SECOND).await;
    // Ready at the moment the probe is due, and never called.
    let mut idle: Vec<_> = (0..64).map(|_| vendor.clone()).collect();
    for clone in &mut idle {
        ServiceExt::<Request<Body>>::ready(clone).await.unwrap();
    }
    let start = Instant::now();
    assert_eq!(vendor.oneshot(impatient("/")).await.unwrap().status(), StatusCode::OK);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

// tower-rs/tower#408, tower-rs/tower#434: the same for callers that wait, in a buffer and over a limit of one.
#[tokio::test(start_paused = true)]
async fn callers_that_wait_hold_no_slot_of_a_buffer_or_a_limit() {
    async fn sends_at_once<S, RB>(vendor: S)
    where
        S: Service<Request<Body>, Response = Response<RB>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Send + std::fmt::Debug,
        RB: Send + 'static,
    {
        // The last one meets a URL whose deadline is known.
        for path in ["/a", "/b", "/c", "/a"] {
            send_and_park(&vendor, get(path)).await;
        }
        let answer = timeout(SECOND, vendor.oneshot(other_host())).await.expect("it deadlocked").unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }
    let mock = || {
        let vendor = MockVendor::in_process().script(reply(429).retry_after(20)).route("/", reply(200));
        vendor.service()
    };
    let stack = || forbear::stack(&registered()).budget(30 * SECOND);
    sends_at_once(Buffer::new(stack().layer(mock()), 1)).await;
    sends_at_once(stack().layer(Buffer::new(mock(), 1))).await;
    sends_at_once(stack().layer(ConcurrencyLimit::new(mock(), 1))).await;
    sends_at_once(stack().layer(Buffer::new(ConcurrencyLimit::new(mock(), 1), 1))).await;
    let alone = ServiceBuilder::new().layer(RetryAfterLayer::new());
    sends_at_once(alone.service(ConcurrencyLimit::new(mock(), 1))).await;
}
