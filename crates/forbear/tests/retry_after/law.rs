//! What every layer owes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use forbear::{Error, NoWait, RetryAfterLayer, body::Replay};
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Full;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimit;
use tower::{Layer, ServiceExt};
use tower_test::mock::{self, Handle};

use crate::common::{
    Client, Failed, SECOND, Sent, answer, called, cut, cut_when_woken, fails, get, hangs, limited, panics,
    panics_in_call, with,
};

const URL: &str = "http://vendor.test/a";

fn limit(client: &Client, permits: &Arc<Semaphore>) -> ConcurrencyLimit<Client> {
    ConcurrencyLimit::with_semaphore(client.clone(), Arc::clone(permits))
}

fn refuse(seconds: u64) -> Response<Full<Bytes>> {
    Response::builder().status(429).header("retry-after", seconds).body(Full::default()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn readiness_is_the_inner_services() {
    let (mut service, mut vendor) = mock::spawn_with(|inner| RetryAfterLayer::new().layer(inner));
    let vendor: &mut Handle<Request<Replay<Sent>>, Response<Full<Bytes>>> = &mut vendor;
    vendor.allow(0);
    assert!(service.poll_ready().is_pending());
    vendor.allow(1);
    assert!(service.is_woken());
    assert!(matches!(service.poll_ready(), Poll::Ready(Ok(()))));
    let call = tokio::spawn(service.call(get(URL)));
    let (_, respond) = vendor.next_request().await.unwrap();
    respond.send_response(refuse(5));
    // The wait is over, but the client is not ready: what is called is never a clone that was not made ready.
    sleep(60 * SECOND).await;
    assert!(vendor.poll_request().is_pending() && !call.is_finished());
    vendor.allow(1);
    let (_, respond) = vendor.next_request().await.unwrap();
    respond.send_response(Response::new(Full::default()));
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
    vendor.send_error("gone");
    assert!(matches!(service.poll_ready(), Poll::Ready(Err(Error::Client(_)))));
}

#[tokio::test(start_paused = true)]
async fn readiness_that_fails_after_a_wait_is_the_answer() {
    let (mut service, mut vendor) = mock::spawn_with(|inner| RetryAfterLayer::new().layer(inner));
    let vendor: &mut Handle<Request<Replay<Sent>>, Response<Full<Bytes>>> = &mut vendor;
    vendor.allow(1);
    assert!(service.poll_ready().is_ready());
    let call = tokio::spawn(service.call(get(URL)));
    let (_, respond) = vendor.next_request().await.unwrap();
    respond.send_response(refuse(5));
    vendor.send_error("gone");
    assert!(matches!(call.await.unwrap(), Err(Error::Client(_))));
}

#[tokio::test(start_paused = true)]
async fn readiness_is_not_held_while_a_recorded_deadline_is_waited_for() {
    let (client, permits) = (Client::new([limited(429, 5), answer(200)]), Arc::new(Semaphore::new(1)));
    let mut service = RetryAfterLayer::new().layer(limit(&client, &permits));
    let first = service.clone().oneshot(with(get(URL), NoWait)).await.unwrap();
    assert_eq!(first.status(), 429);
    // The service stays with the caller, as behind `tower::buffer` or in a handler that owns it.
    let call = tokio::spawn(called(&mut service, get(URL)).await);
    sleep(SECOND).await;
    assert_eq!(permits.available_permits(), 1);
    let answer = tokio::time::timeout(20 * SECOND, call).await.expect("its own permit").unwrap();
    assert_eq!(answer.unwrap().status(), 200);
    drop(service);
}

#[tokio::test(start_paused = true)]
async fn clones_share_state() {
    let layer = RetryAfterLayer::new();
    let client = Client::new([limited(429, 7), answer(200)]);
    let (one, other) = (layer.layer(client.clone()), layer.clone().layer(client.clone()));
    assert_eq!(one.oneshot(with(get(URL), NoWait)).await.unwrap().status(), 429);
    let start = Instant::now();
    assert_eq!(other.oneshot(get(URL)).await.unwrap().status(), 200);
    assert!(start.elapsed() >= 7 * SECOND);
    assert_eq!(RetryAfterLayer::new().layer(client.clone()).oneshot(get(URL)).await.unwrap().status(), 200);
    assert_eq!(client.sent(), 3);
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_drops_the_attempt() {
    let (client, permits) = (Client::new([hangs()]), Arc::new(Semaphore::new(1)));
    let service = RetryAfterLayer::new().layer(limit(&client, &permits));
    assert!(cut(service.clone().oneshot(get(URL)), 1).await.is_none());
    assert_eq!((client.sent(), client.in_flight(), permits.available_permits()), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_in_a_wait_leaves_the_deadline_recorded() {
    let (client, permits) = (Client::new([limited(429, 30), answer(200)]), Arc::new(Semaphore::new(1)));
    let service = RetryAfterLayer::new().layer(limit(&client, &permits));
    assert!(tokio::time::timeout(10 * SECOND, service.clone().oneshot(get(URL))).await.is_err());
    assert_eq!((client.in_flight(), permits.available_permits()), (0, 1));
    let cooling = crate::refusal(service.clone().oneshot(with(get(URL), NoWait)).await).unwrap();
    assert_eq!(cooling.retry_in(), Some(20 * SECOND));
    assert_eq!(permits.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn drop_after_ready_gives_the_permit_back() {
    let (client, permits) = (Client::new([answer(200)]), Arc::new(Semaphore::new(1)));
    let service = RetryAfterLayer::new().layer(limit(&client, &permits));
    let mut readied = service.clone();
    ServiceExt::<Request<Sent>>::ready(&mut readied).await.unwrap();
    assert_eq!(permits.available_permits(), 0);
    drop(readied);
    assert_eq!(permits.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn inner_error_is_returned_and_not_repeated() {
    let client = Client::new([limited(429, 1), fails()]);
    let error = RetryAfterLayer::new().layer(client.clone()).oneshot(get(URL)).await.unwrap_err();
    assert!(matches!(&error, Error::Client(inner) if inner.is::<Failed>()), "{error:?}");
    assert_eq!(client.sent(), 2);
}

#[tokio::test(start_paused = true)]
async fn panics_inside_pass_through_and_hold_nothing() {
    let permits = Arc::new(Semaphore::new(1));
    for act in [panics(), panics().polls(1), panics_in_call()] {
        let client = Client::new([limited(429, 1), act, answer(200)]);
        let service = RetryAfterLayer::new().layer(limit(&client, &permits));
        let call = AssertUnwindSafe(service.clone().oneshot(get(URL)));
        assert!(call.catch_unwind().await.is_err());
        assert_eq!((client.in_flight(), permits.available_permits()), (0, 1));
        assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_no_room_for_urls_records_by_authority() {
    let layer = RetryAfterLayer::new().max_recorded(0);
    let service = layer.layer(Client::new([limited(429, 9), answer(200)]));
    assert_eq!(service.clone().oneshot(with(get(URL), NoWait)).await.unwrap().status(), 429);
    assert_eq!(layer.overflows(), 1);
    let elsewhere = with(get("http://vendor.test/b"), NoWait);
    assert_eq!(crate::refusal(service.oneshot(elsewhere).await).unwrap().retry_in(), Some(9 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_the_largest_delay_is_no_panic() {
    let service = RetryAfterLayer::new().layer(Client::new([limited(429, u64::MAX), answer(200)]));
    let start = Instant::now();
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 429);
    let cooling = crate::refusal(service.oneshot(get(URL)).await).unwrap();
    // A URL is left alone for a day at most, whatever its vendor asks for.
    assert_eq!(cooling.retry_in(), Some(86_400 * SECOND));
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn cancel_at_every_await_holds_nothing() {
    for late in [false, true] {
        for polls in 0.. {
            let client =
                Client::new([limited(429, 1).polls(2), limited(503, 1).polls(1), answer(200).polls(2)]);
            let permits = Arc::new(Semaphore::new(1));
            let service = RetryAfterLayer::new().layer(limit(&client, &permits));
            let call = service.clone().oneshot(get(URL));
            let done = if late { cut_when_woken(call, polls).await } else { cut(call, polls).await };
            assert_eq!((client.in_flight(), permits.available_permits()), (0, 1), "after {polls} polls");
            sleep(5 * SECOND).await;
            client.play([answer(200)]);
            assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
            if let Some(answer) = done {
                assert_eq!(answer.unwrap().status(), 200);
                assert!(polls > 6);
                break;
            }
        }
    }
}
