//! One absolute deadline, and the grace after it.

use std::convert::Infallible;
use std::pin::pin;

use forbear::{Budget, BudgetLayer, Error, Spent};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Client, MS, SECOND, answer, called, get, hangs, poll_once, with};
use crate::spent;

#[tokio::test(start_paused = true)]
async fn the_deadline_is_fixed_at_the_call() {
    let mut service = BudgetLayer::new(10 * SECOND).layer(Client::new([hangs()]));
    let call = called(&mut service, get("http://vendor.test/")).await;
    let start = Instant::now();
    sleep(6 * SECOND).await;
    assert_eq!(spent(call.await), Some(Spent::Time));
    assert_eq!(start.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_at_the_deadline_is_returned() {
    let mut service = BudgetLayer::new(10 * SECOND).layer(Client::new([answer(200).delay(10 * SECOND)]));
    let mut call = pin!(called(&mut service, get("http://vendor.test/")).await);
    assert!(poll_once(call.as_mut()).is_pending());
    sleep(60 * SECOND).await;
    assert_eq!(call.await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn grace_lets_the_attempt_in_flight_finish_and_not_longer() {
    for (takes, finishes) in [(11_900 * MS, true), (12_100 * MS, false)] {
        let client = Client::new([answer(200).delay(takes)]);
        let service = BudgetLayer::new(10 * SECOND).grace(2 * SECOND).layer(client);
        let start = Instant::now();
        let answer = service.oneshot(get("http://vendor.test/")).await;
        assert_eq!(answer.is_ok(), finishes);
        assert_eq!(start.elapsed(), takes.min(12 * SECOND));
        assert_eq!(spent(answer), (!finishes).then_some(Spent::Time));
    }
}

#[tokio::test(start_paused = true)]
async fn grace_begins_nothing_new() {
    let client = Client::new([crate::common::limited(429, 1).delay(9_500 * MS), answer(200)]);
    let layers = (BudgetLayer::new(10 * SECOND).grace(5 * SECOND), forbear::RetryAfterLayer::new());
    let service = layers.layer(client.clone());
    let answer = service.oneshot(get("http://vendor.test/")).await.unwrap();
    assert_eq!((answer.status().as_u16(), client.sent()), (429, 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_extension_nests_and_only_shortens() {
    for (carried, takes) in [(3 * SECOND, 3 * SECOND), (99 * SECOND, 10 * SECOND)] {
        let service = BudgetLayer::new(10 * SECOND).layer(Client::new([hangs()]));
        let start = Instant::now();
        let request = with(get("http://vendor.test/"), Budget::within(carried));
        assert_eq!(spent(service.oneshot(request).await), Some(Spent::Time));
        assert_eq!(start.elapsed(), takes);
    }
}

#[tokio::test(start_paused = true)]
async fn nesting_takes_the_earlier_deadline_whichever_layer_has_it() {
    for (outer, inner) in [(3, 10), (10, 3)] {
        let client = Client::new([hangs()]);
        let inner = BudgetLayer::new(inner * SECOND).layer(client.clone());
        let between = tower::service_fn(move |request| {
            let inner = inner.clone();
            async move { inner.oneshot(request).await }
        });
        let service = BudgetLayer::new(outer * SECOND).layer(between);
        let start = Instant::now();
        assert_eq!(spent(service.oneshot(get("http://vendor.test/")).await), Some(Spent::Time));
        assert_eq!((start.elapsed(), client.in_flight()), (3 * SECOND, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn budgets_are_made_from_either_clock_and_a_duration() {
    let deadline = Instant::now() + 5 * SECOND;
    for budget in [Budget::until(deadline), Budget::until(deadline.into_std()), Budget::within(5 * SECOND)] {
        assert_eq!((budget.remaining(), budget.deadline()), (5 * SECOND, Some(deadline)));
    }
    sleep(6 * SECOND).await;
    assert_eq!(Budget::until(deadline).remaining(), std::time::Duration::ZERO);
    let over = with(get("http://vendor.test/"), Budget::until(deadline));
    let answer = BudgetLayer::unlimited().layer(Client::new([hangs()])).oneshot(over).await;
    assert!(matches!(answer, Err(Error::BudgetExhausted(spent)) if spent.spent().is_zero()));
}

/// Under a real clock: a paused one stands still while a task is busy.
#[tokio::test]
async fn a_client_that_never_lets_its_task_rest_ends_at_the_deadline() {
    let busy = tower::service_fn(|_| async {
        while !std::hint::black_box(false) {
            tokio::task::consume_budget().await;
        }
        Ok::<_, Infallible>(http::Response::new(()))
    });
    let call = BudgetLayer::new(50 * MS).layer(busy).oneshot(get("http://vendor.test/"));
    let answer = tokio::time::timeout(30 * SECOND, call).await.expect("the deadline has long passed");
    assert_eq!(spent(answer), Some(Spent::Time));
}
