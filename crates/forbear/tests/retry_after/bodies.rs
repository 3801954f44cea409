//! What becomes of the bodies of limited answers.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use forbear::{RetryAfterLayer, body::Replay};
use http::{Request, Response};
use http_body_util::BodyExt;
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceExt};

use crate::common::{MS, SECOND, Sent, get};

#[path = "../body/support.rs"]
#[allow(dead_code, reason = "a part of it is used here")]
mod support;

use support::{Broken, Script, Step, data};

/// Answers 429 with `limited` as the body, then 200 with `last`.
fn client(
    limited: Script,
    last: Script,
) -> impl Service<Request<Replay<Sent>>, Response = Response<Script>, Error = Infallible, Future: Send> + Clone
{
    let bodies = Arc::new(Mutex::new(vec![(200, last), (429, limited)]));
    tower::service_fn(move |_| {
        let (status, body) = bodies.lock().unwrap().pop().unwrap();
        async move {
            let response = Response::builder().status(status).header("retry-after", 5);
            Ok(response.body(body).unwrap())
        }
    })
}

fn end() -> Script {
    Script::new([data("done")])
}

#[tokio::test(start_paused = true)]
async fn it_is_read_to_its_end_and_dropped_before_the_wait() {
    let body = Script::new([data("a"), Step::Later, data("b"), Step::Later, data("c")]);
    let (alive, polls) = (Arc::clone(&body.alive), Arc::clone(&body.polls));
    let call = tokio::spawn(RetryAfterLayer::new().layer(client(body, end())).oneshot(get("http://v.test/")));
    sleep(MS).await;
    assert_eq!(polls.load(std::sync::atomic::Ordering::Relaxed), 5);
    assert_eq!(Arc::strong_count(&alive), 1);
    assert!(!call.is_finished());
    let answer = call.await.unwrap().unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "done");
}

#[tokio::test(start_paused = true)]
async fn one_that_stalls_is_dropped_after_a_quarter_of_a_second() {
    let body = Script::new([data("a"), Step::Stall]).inexact();
    let alive = Arc::clone(&body.alive);
    let start = Instant::now();
    let call = tokio::spawn(RetryAfterLayer::new().layer(client(body, end())).oneshot(get("http://v.test/")));
    sleep(249 * MS).await;
    assert_eq!(Arc::strong_count(&alive), 2);
    sleep(2 * MS).await;
    assert_eq!(Arc::strong_count(&alive), 1);
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
    let took = start.elapsed();
    assert!((5 * SECOND..=5_501 * MS).contains(&took), "the wait counts from the answer: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_too_long_is_dropped_unread() {
    let body = Script::new([data(vec![0; 64 * 1024 + 1])]);
    let polls = Arc::clone(&body.polls);
    let service = RetryAfterLayer::new().layer(client(body, end()));
    assert_eq!(service.oneshot(get("http://v.test/")).await.unwrap().status(), 200);
    assert_eq!(polls.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn one_that_fails_while_it_is_drained_changes_nothing() {
    let service = RetryAfterLayer::new().layer(client(Script::new([data("a"), Step::Error]), end()));
    assert_eq!(service.oneshot(get("http://v.test/")).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_the_returned_body_is_the_callers() {
    let last = Script::new([data("a"), Step::Error]);
    let service = RetryAfterLayer::new().layer(client(end(), last));
    let mut body = service.oneshot(get("http://v.test/")).await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), Bytes::from("a"));
    assert_eq!(body.frame().await.unwrap().unwrap_err(), Broken);
}
