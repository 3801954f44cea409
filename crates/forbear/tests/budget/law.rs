//! What every layer owes.

use std::num::NonZeroU32;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Budget, BudgetLayer, Error, Spent};
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Full;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimit;
use tower::{Layer, ServiceExt};
use tower_test::mock::{self, Handle};

use crate::common::{
    Client, MS, SECOND, Sent, answer, called, cut, fails, get, hangs, limited, panics, panics_in_call,
    poll_once,
};
use crate::spent;

#[tokio::test(start_paused = true)]
async fn readiness_is_the_inner_services_and_its_time_the_callers() {
    let layer = BudgetLayer::new(30 * SECOND);
    let (mut service, mut vendor) = mock::spawn_with(move |inner| layer.layer(inner));
    let vendor: &mut Handle<Request<Sent>, Response<Full<Bytes>>> = &mut vendor;
    vendor.allow(0);
    assert!(service.poll_ready().is_pending());
    sleep(100 * SECOND).await;
    vendor.allow(1);
    assert!(service.is_woken());
    assert!(matches!(service.poll_ready(), Poll::Ready(Ok(()))));
    sleep(100 * SECOND).await;
    let start = Instant::now();
    let call = service.call(get("http://vendor.test/"));
    let (_request, _never) = vendor.next_request().await.unwrap();
    assert_eq!(spent(call.await), Some(Spent::Time));
    assert_eq!(start.elapsed(), 30 * SECOND);
    vendor.send_error("gone");
    assert!(matches!(service.poll_ready(), Poll::Ready(Err(Error::Client(_)))));
}

#[tokio::test(start_paused = true)]
async fn clones_share_state_of_the_layer_and_have_a_deadline_each() {
    let client = Client::new([hangs()]);
    let service = BudgetLayer::new(10 * SECOND).layer(client.clone());
    let start = Instant::now();
    let first = service.clone().oneshot(get("http://vendor.test/"));
    let second = async {
        tokio::time::sleep(4 * SECOND).await;
        service.clone().oneshot(get("http://vendor.test/")).await
    };
    let (first, second) = tokio::join!(
        async {
            let answer = first.await;
            (spent(answer), start.elapsed())
        },
        async {
            let answer = second.await;
            (spent(answer), start.elapsed())
        },
    );
    assert_eq!(first, (Some(Spent::Time), 10 * SECOND));
    assert_eq!(second, (Some(Spent::Time), 14 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_drops_the_attempt_and_leaves_no_scope() {
    let client = Client::new([hangs()]);
    let mut service = BudgetLayer::new(10 * SECOND).layer(client.clone());
    {
        let mut call = pin!(called(&mut service, get("http://vendor.test/")).await);
        assert!(poll_once(call.as_mut()).is_pending());
        assert_eq!((client.in_flight(), Budget::current()), (1, None));
    }
    assert_eq!((client.in_flight(), Budget::current()), (0, None));
}

#[tokio::test(start_paused = true)]
async fn drop_after_ready_gives_the_permit_back() {
    let permits = Arc::new(Semaphore::new(1));
    let limit = ConcurrencyLimit::with_semaphore(Client::new([answer(200)]), Arc::clone(&permits));
    let service = BudgetLayer::new(SECOND).layer(limit);
    let mut readied = service.clone();
    let _ = ServiceExt::<Request<Sent>>::ready(&mut readied).await.unwrap();
    assert_eq!(permits.available_permits(), 0);
    drop(readied);
    assert_eq!(permits.available_permits(), 1);
    let called = service.clone().oneshot(get("http://vendor.test/"));
    assert_eq!(called.await.unwrap().status(), 200);
    assert_eq!(permits.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn inner_error_is_the_source_of_ours() {
    let service = BudgetLayer::new(SECOND).layer(Client::new([fails()]));
    let error = service.oneshot(get("http://vendor.test/")).await.unwrap_err();
    assert!(matches!(&error, Error::Client(inner) if inner.is::<crate::common::Failed>()), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn panics_inside_pass_through_and_leave_no_scope() {
    let client = Client::new([panics().polls(1), panics_in_call(), answer(200)]);
    let service = BudgetLayer::new(SECOND).layer(client.clone());
    for _ in 0..2 {
        let call = AssertUnwindSafe(service.clone().oneshot(get("http://vendor.test/")));
        assert!(call.catch_unwind().await.is_err());
        assert_eq!((client.in_flight(), Budget::current()), (0, None));
    }
    assert_eq!(service.oneshot(get("http://vendor.test/")).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_zero_lets_only_what_is_ready_pass() {
    let layer = BudgetLayer::new(Duration::ZERO);
    let start = Instant::now();
    let ready = layer.layer(Client::new([answer(200)])).oneshot(get("http://vendor.test/"));
    assert_eq!(ready.await.unwrap().status(), 200);
    let client = Client::new([answer(200).delay(MS)]);
    let pending = layer.layer(client.clone()).oneshot(get("http://vendor.test/"));
    assert_eq!(spent(pending.await), Some(Spent::Time));
    assert_eq!((start.elapsed(), client.in_flight()), (Duration::ZERO, 0));
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_the_longest_durations_end_nothing() {
    let layer = BudgetLayer::new(Duration::MAX).grace(Duration::MAX).attempts(NonZeroU32::MAX);
    let day = 86_400 * SECOND;
    let service = layer.layer(Client::new([answer(200).delay(400 * day)]));
    let start = Instant::now();
    assert_eq!(service.oneshot(get("http://vendor.test/")).await.unwrap().status(), 200);
    assert!(start.elapsed() >= 400 * day);
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_unlimited_has_no_deadline_of_its_own() {
    let service = BudgetLayer::unlimited().layer(crate::looking());
    assert_eq!(crate::seen(service.oneshot(get("http://vendor.test/")).await).poll, None);
    let service = BudgetLayer::unlimited().total(SECOND).layer(Client::new([hangs()]));
    assert_eq!(spent(service.oneshot(get("http://vendor.test/")).await), Some(Spent::Time));
}

#[tokio::test(start_paused = true)]
async fn cancel_at_every_await_leaves_nothing_in_flight() {
    for polls in 0.. {
        let client = Client::new([limited(429, 1).polls(2)]);
        let service = BudgetLayer::new(SECOND).layer(client.clone());
        let answer = cut(service.oneshot(get("http://vendor.test/")), polls).await;
        assert_eq!((client.in_flight(), Budget::current()), (0, None), "after {polls} polls");
        if answer.is_some() {
            assert!(polls > 2);
            break;
        }
    }
}
