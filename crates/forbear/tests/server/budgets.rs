//! One budget for all outbound calls of a handler.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use forbear::{Budget, Error, InboundBudgetLayer, RefusalResponseLayer, RetryAfterLayer, Spent};
use futures_util::FutureExt;
use http::Response;
use http_body_util::Full;
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt};

use crate::common::{Client, MS, SECOND, answer, cut, get, hangs, limited, with};
use crate::{URL, ask, families, handler, told, vendor};

#[tokio::test(start_paused = true)]
async fn two_calls_one_after_the_other_spend_from_one_deadline() {
    let client = Client::new([answer(200).delay(200 * MS)]);
    let vendor = vendor(&families(), &client);
    let server = InboundBudgetLayer::new(300 * MS).layer(handler(move || {
        let vendor = vendor.clone();
        async move {
            assert_eq!(ask(&vendor).await?.status(), 200);
            ask(&vendor).await
        }
    }));
    let start = Instant::now();
    let Err(Error::BudgetExhausted(spent)) = server.oneshot(get("/")).await else { panic!() };
    assert_eq!((start.elapsed(), client.sent()), (300 * MS, 2));
    // What the second call spent is its own.
    assert_eq!((spent.what(), spent.spent(), spent.attempts()), (Spent::Time, 100 * MS, 1));
}

#[tokio::test(start_paused = true)]
async fn the_earlier_of_inbound_and_outbound_budget_wins() {
    for (inbound, outbound, ends) in [(60, 10, 10), (10, 60, 10)] {
        let client = Client::new([hangs()]);
        let vendor = forbear::stack(&families()).budget(outbound * SECOND).service(client);
        let server = InboundBudgetLayer::new(inbound * SECOND).layer(handler(move || {
            let vendor = vendor.clone();
            async move { ask(&vendor).await }
        }));
        let start = Instant::now();
        assert!(matches!(server.oneshot(get("/")).await, Err(Error::BudgetExhausted(_))));
        assert_eq!(start.elapsed(), ends * SECOND);
    }
}

/// A wait that would end behind the inbound deadline is not begun.
#[tokio::test(start_paused = true)]
async fn a_vendors_wait_has_to_fit_what_the_caller_waits() {
    let client = Client::new([limited(429, 5), answer(200)]);
    let vendor = vendor(&families(), &client);
    let server = InboundBudgetLayer::new(20 * SECOND).layer(handler(move || {
        let vendor = vendor.clone();
        async move { ask(&vendor).await }
    }));
    let start = Instant::now();
    let mut request = get("/");
    request.headers_mut().insert("grpc-timeout", "3S".parse().unwrap());
    assert_eq!(server.clone().oneshot(request).await.unwrap().status(), 429);
    assert_eq!((start.elapsed(), client.sent()), (Duration::ZERO, 1));
    assert_eq!(server.oneshot(get("/")).await.unwrap().status(), 200);
    assert!(start.elapsed() >= 5 * SECOND);
}

/// Without a deadline nothing is in scope: a call without a budget waits for a minute at most, as ever.
#[tokio::test(start_paused = true)]
async fn no_deadline_is_not_an_endless_budget() {
    for (layer, sent) in [(InboundBudgetLayer::unlimited(), 1), (InboundBudgetLayer::new(600 * SECOND), 2)] {
        let client = Client::new([limited(429, 90), answer(200)]);
        let outbound = RetryAfterLayer::new().layer(client.clone());
        let server = layer.layer(handler(move || {
            let outbound = outbound.clone();
            async move { Ok(outbound.oneshot(get(URL)).await?.map(|_| Full::default())) }
        }));
        server.oneshot(get("/")).await.unwrap();
        assert_eq!(client.sent(), sent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_takes_it_along_by_hand() {
    let client = Client::new([hangs()]);
    let vendor = vendor(&families(), &client);
    let server = InboundBudgetLayer::new(SECOND).layer(handler(move || {
        let vendor = vendor.clone();
        async move {
            let budget = Budget::current().unwrap();
            let task = tokio::spawn(async move {
                assert_eq!(Budget::current(), None);
                vendor.send(with(get(URL), budget)).await.map(|_| ())
            });
            task.await.unwrap().map(|()| Response::default())
        }
    }));
    let start = Instant::now();
    assert!(matches!(server.oneshot(get("/")).await, Err(Error::BudgetExhausted(_))));
    assert_eq!(start.elapsed(), SECOND);
}

/// The inbound deadline bounds the outbound calls, and the handler itself only where a server asks for it.
#[tokio::test(start_paused = true)]
async fn a_handler_outlives_the_deadline_unless_it_is_ended() {
    let busy = || async {
        sleep(10 * SECOND).await;
        Ok(Response::new(Full::from("late")))
    };
    let inbound = InboundBudgetLayer::new(2 * SECOND);
    let start = Instant::now();
    let goes_on = inbound.layer(RefusalResponseLayer::new().layer(handler(busy)));
    assert_eq!(goes_on.oneshot(get("/")).await.unwrap().status(), 200);
    assert_eq!(start.elapsed(), 10 * SECOND);

    let start = Instant::now();
    let ending = RefusalResponseLayer::new().ends_handlers();
    let ended = told(inbound.layer(ending.layer(handler(busy))).oneshot(get("/")).await.unwrap()).await;
    assert_eq!(start.elapsed(), 2 * SECOND);
    assert_eq!((ended.status, ended.retry_after), (504, None));
    assert_eq!((&ended.problem["reason"], ended.by.as_deref()), (&"deadline".into(), Some("local")));

    // Nothing to end it at.
    let start = Instant::now();
    assert_eq!(ending.layer(handler(busy)).oneshot(get("/")).await.unwrap().status(), 200);
    assert_eq!(start.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_ended_lets_go_of_its_call() {
    let client = Client::new([answer(200).delay(60 * SECOND)]);
    let mut service = client.clone();
    let calling = tower::service_fn(move |request| service.call(request));
    let ending = RefusalResponseLayer::new().ends_handlers().layer(calling);
    let mut server = InboundBudgetLayer::new(2 * SECOND).layer(ending);
    // Kept, as by somebody who polls it among others.
    let mut future = Box::pin(server.call(get("/")));
    let answer = (&mut future).await.unwrap();
    assert_eq!((answer.status().as_u16(), client.sent(), client.in_flight()), (504, 1, 0));
    drop(future);
}

#[tokio::test(start_paused = true)]
async fn a_panic_and_a_cancelled_caller_leave_nothing_in_scope() {
    let inbound = InboundBudgetLayer::new(SECOND);
    let panicking = inbound.layer(handler(|| async { std::panic::resume_unwind(Box::new("handler")) }));
    assert!(AssertUnwindSafe(panicking.oneshot(get("/"))).catch_unwind().await.is_err());
    assert_eq!(Budget::current(), None);
    let in_call =
        inbound.layer(tower::service_fn(|_: http::Request<_>| -> std::future::Ready<Result<(), Error>> {
            std::panic::resume_unwind(Box::new("call"))
        }));
    assert!(AssertUnwindSafe(in_call.oneshot(get("/"))).catch_unwind().await.is_err());
    assert_eq!(Budget::current(), None);

    let client = Client::new([hangs().polls(3)]);
    let vendor = vendor(&families(), &client);
    for polls in 1..=4 {
        let vendor = vendor.clone();
        let server = inbound.layer(handler(move || {
            let vendor = vendor.clone();
            async move { ask(&vendor).await }
        }));
        assert!(cut(server.oneshot(get("/")), polls).await.is_none());
        assert_eq!((Budget::current(), client.in_flight()), (None, 0), "{polls}");
    }
}
