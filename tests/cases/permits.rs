//! Permits of what stands below come back, however an attempt ends.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use forbear::body::Replay;
use forbear::{Budget, BudgetLayer, Error, FamilyCooldownLayer, RetryAfterLayer};
use forbear_core::health::HealthPhase;
use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use tokio::sync::Semaphore;
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, ServiceExt};

use crate::support::{
    Body, Client, MILLISECOND, SECOND, answer, client, get, impatient, limited, registered, settle,
};

/// Takes 50 ms an answer, and 429 with a delay of a second for the first of each `per`. Knows how many it serves.
fn vendor(per: usize) -> (Client, Arc<AtomicUsize>) {
    let (sent, inside) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&peak);
    let respond = move |_| {
        let number = sent.fetch_add(1, Ordering::Relaxed);
        let inside = Inside::enter(&inside);
        peak.fetch_max(inside.0.load(Ordering::Relaxed), Ordering::Relaxed);
        async move {
            tokio::time::sleep(50 * MILLISECOND).await;
            drop(inside);
            Ok(if number.is_multiple_of(per) { limited("1") } else { answer(200) })
        }
    };
    (client(respond), seen)
}

/// Counts itself while it lives.
struct Inside(Arc<AtomicUsize>);

impl Inside {
    fn enter(inside: &Arc<AtomicUsize>) -> Self {
        inside.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(inside))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

// joshrotenberg/tower-resilience#365, joshrotenberg/tower-resilience#363: more were let in than allowed, and places
// leaked.
#[tokio::test(start_paused = true)]
async fn clones_dropped_at_random_neither_leak_nor_exceed_a_limit() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let families = registered();
        let (client, peak) = vendor(5);
        let permits = Arc::new(Semaphore::new(4));
        let limit = ConcurrencyLimit::with_semaphore(client, Arc::clone(&permits));
        let stacked = forbear::stack(&families).budget(60 * SECOND).service(limit);
        let polls = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let (vendor, polls) = (stacked.clone(), Arc::clone(&polls));
                tokio::spawn(async move {
                    let mut sent = pin!(vendor.send(get("/")));
                    poll_fn(|cx| {
                        polls.fetch_add(1, Ordering::Relaxed);
                        sent.as_mut().poll(cx)
                    })
                    .await
                    .map(|response| response.status().as_u16())
                })
            })
            .collect();
        for task in &tasks {
            tokio::time::sleep(random.u32(0..100) * MILLISECOND).await;
            if random.bool() {
                task.abort();
            }
        }
        let mut served = 0;
        for task in tasks {
            if let Ok(ended) = task.await {
                served += usize::from(ended.is_ok_and(|status| status == 200));
            }
        }
        assert!(peak.load(Ordering::Relaxed) <= 4, "seed {seed}");
        assert_eq!(permits.available_permits(), 4, "seed {seed}");
        assert!(served >= 10, "seed {seed}: {served} were served");
        assert_eq!(families.health().family("vendor").unwrap().waiting, 0);
        let polls = polls.load(Ordering::Relaxed);
        assert!(polls < 64 * 20, "seed {seed}: {polls} polls");
    }
}

// linkerd/linkerd2-proxy#751: a future that was complete and not yet dropped kept its permit.
#[tokio::test(start_paused = true)]
async fn a_permit_is_back_when_the_answer_is_there() {
    for layers in 0..4 {
        let permits = Arc::new(Semaphore::new(1));
        let limit = ConcurrencyLimit::with_semaphore(vendor(2).0, Arc::clone(&permits));
        let families = registered();
        for request in [impatient("/"), get("/"), get("/")] {
            let limit = limit.clone();
            match layers {
                0 => {
                    kept_when_done(BudgetLayer::new(30 * SECOND).layer(plain(limit)), request, &permits)
                        .await;
                }
                1 => kept_when_done(RetryAfterLayer::new().layer(limit), request, &permits).await,
                2 => {
                    let layer = FamilyCooldownLayer::new(families.clone());
                    kept_when_done(layer.layer(plain(limit)), request, &permits).await;
                }
                _ => kept_when_done(forbear::stack(&families).layer(limit), request, &permits).await,
            }
        }
    }
}

/// Takes requests as a client below [`RetryAfterLayer`] gets them.
fn plain<S, RB>(client: S) -> impl Service<Request<Body>, Response = Response<RB>, Error = S::Error> + Clone
where
    S: Service<Request<Replay<Body>>, Response = Response<RB>> + Clone,
{
    client.map_request(|request: Request<Body>| request.map(Replay::plain))
}

/// Keeps the future after its answer, and looks whether the permit is back.
async fn kept_when_done<S, RB>(mut service: S, request: Request<Body>, permits: &Semaphore)
where
    S: Service<Request<Body>, Response = Response<RB>, Error = Error>,
{
    let mut sent = Box::pin(service.ready().await.unwrap().call(request));
    let answered = poll_fn(|cx| sent.as_mut().poll(cx)).await;
    assert!(answered.is_ok() || matches!(answered, Err(Error::Cooling(_))));
    assert_eq!(permits.available_permits(), 1);
    drop(sent);
}

// linkerd/linkerd2-proxy#751: the same for an attempt that its deadline ended.
#[tokio::test(start_paused = true)]
async fn a_permit_is_back_when_the_deadline_has_passed() {
    let permits = Arc::new(Semaphore::new(1));
    let stuck = client(|_| std::future::pending());
    let limit = ConcurrencyLimit::with_semaphore(stuck, Arc::clone(&permits));
    let mut stack = forbear::stack(&registered()).budget(SECOND).layer(limit);
    let mut sent = Box::pin(stack.ready().await.unwrap().call(get("/")));
    let ended = poll_fn(|cx| sent.as_mut().poll(cx)).await;
    assert!(matches!(ended, Err(Error::BudgetExhausted(_))));
    assert_eq!(permits.available_permits(), 1);
}

// anza-xyz/agave#10478: a panic inside lost its permit. Nor may it leave its budget in scope.
#[tokio::test(start_paused = true)]
async fn a_permit_comes_back_after_a_panic() {
    for in_call in [false, true] {
        let (permits, sent) = (Arc::new(Semaphore::new(1)), Arc::new(AtomicUsize::new(0)));
        // A panic while the gate is open, and one of the attempt that a wait ends with.
        let broken = client(move |_| {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            let breaks = number == 0 || number == 2;
            assert!(!(in_call && breaks), "the client panics when called");
            async move {
                assert!(!breaks, "the client panics inside");
                Ok(if number == 1 { limited("1") } else { answer(200) })
            }
        });
        let limit = ConcurrencyLimit::with_semaphore(broken, Arc::clone(&permits));
        let families = registered();
        let stacked = forbear::stack(&families).budget(30 * SECOND).service(limit);
        for _ in 0..2 {
            let ended = AssertUnwindSafe(stacked.send(get("/"))).catch_unwind().await;
            assert!(ended.is_err(), "the panic is its caller's");
            assert_eq!(permits.available_permits(), 1);
            assert!(Budget::current().is_none(), "the budget is out of scope");
            assert_eq!(families.health().family("vendor").unwrap().waiting, 0);
        }
        // The next probe waits at most a second.
        tokio::time::sleep(SECOND).await;
        assert_eq!(stacked.send(impatient("/")).await.unwrap().status(), StatusCode::OK);
        assert_eq!(permits.available_permits(), 1);
    }
}

// palantir/conjure-java-runtime#1147: cancellation at the wrong moment lost a permit.
#[tokio::test(start_paused = true)]
async fn a_permit_comes_back_wherever_the_request_is_dropped() {
    for dropped_after in 0..40 {
        let permits = Arc::new(Semaphore::new(1));
        let limit = ConcurrencyLimit::with_semaphore(vendor(2).0, Arc::clone(&permits));
        let families = registered();
        let stacked = forbear::stack(&families).budget(30 * SECOND).service(limit);
        let mut polls = 0;
        let ended = {
            let mut sent = pin!(stacked.send(get("/")));
            poll_fn(|cx| {
                polls += 1;
                if polls > dropped_after {
                    return Poll::Ready(false);
                }
                sent.as_mut().poll(cx).map(|_| true)
            })
            .await
        };
        settle().await;
        assert_eq!(permits.available_permits(), 1, "dropped after {dropped_after} polls");
        assert_eq!(families.health().family("vendor").unwrap().waiting, 0);
        // Whatever it left behind, the family can be called again.
        tokio::time::sleep(5 * SECOND).await;
        assert!(stacked.send(get("/")).await.is_ok());
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(families.health().family("vendor").unwrap().phase, HealthPhase::Open);
        if ended {
            return;
        }
    }
    unreachable!("it takes fewer than forty polls");
}
