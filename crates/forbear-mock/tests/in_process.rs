//! The vendor as a service, under a paused clock.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{Attempt, MockBody, MockVendor, reply, respond_with};
use futures_util::future::join_all;
use futures_util::{FutureExt, stream};
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;

const S: fn(u64) -> Duration = Duration::from_secs;

async fn get(vendor: &MockVendor, path: &str) -> Response<MockBody> {
    let request = Request::get(vendor.url(path)).body(Full::<Bytes>::default()).unwrap();
    vendor.service().oneshot(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn times_are_those_of_the_paused_clock() {
    let vendor = MockVendor::in_process().script([reply(429).retry_after(300), reply(200)]);
    let start = Instant::now();
    assert_eq!(get(&vendor, "/a").await.headers()["retry-after"], "300");
    sleep(S(300)).await;
    assert_eq!(get(&vendor, "/b").await.status(), 200);

    let since: Vec<_> = vendor.attempts().iter().map(Attempt::since).collect();
    assert_eq!(since, [S(0), S(300)]);
    assert_eq!(vendor.attempts()[0].at(), start);
    vendor.assert_gap_at_least(S(300));
    vendor.attempts().assert_gap_at_most(S(300));
}

#[tokio::test(start_paused = true)]
async fn a_delay_takes_its_time_on_the_paused_clock_and_calls_overlap() {
    let vendor = MockVendor::in_process().script(reply(200).delay(S(20)));
    let start = Instant::now();
    join_all((0..100).map(|_| get(&vendor, "/"))).await;
    assert_eq!(start.elapsed(), S(20));
    vendor.assert_attempts(100);
    assert!(vendor.attempts().iter().all(|attempt| attempt.at() == start));
}

#[tokio::test(start_paused = true)]
async fn the_request_is_recorded_and_the_reply_whole() {
    let vendor =
        MockVendor::in_process().script(reply(200)).route("/v1", reply(503).header("x-a", "1").body("busy"));
    let frames = ["one ", "two"].map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from(part))));
    let request = Request::put("http://query1.vendor.test/v1?x=1")
        .header("x-key", "k")
        .body(StreamBody::new(stream::iter(frames)))
        .unwrap();
    let response = vendor.service().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["x-a"], "1");
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "busy");

    let attempts = vendor.attempts_on("/v1");
    let attempt = &attempts[0];
    assert_eq!((attempt.method(), attempt.query()), (&Method::PUT, Some("x=1")));
    assert_eq!(attempt.authority(), Some("query1.vendor.test"));
    assert_eq!(attempt.headers()["x-key"], "k");
    assert_eq!(attempt.body(), "one two");

    let named = Request::get("http://10.0.0.1/v1")
        .header("host", "query2.vendor.test")
        .body(Full::<Bytes>::default());
    vendor.service().oneshot(named.unwrap()).await.unwrap();
    assert_eq!(vendor.attempts()[1].authority(), Some("query2.vendor.test"));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_is_logged_and_does_not_move_the_script() {
    let vendor = MockVendor::in_process().script([reply(429), reply(200)]);
    let frames = [Ok(Frame::data(Bytes::from("half"))), Err("gone")];
    let request = Request::post(vendor.url("/")).body(StreamBody::new(stream::iter(frames))).unwrap();
    assert_eq!(vendor.service().oneshot(request).await.unwrap().status(), 400);
    assert_eq!(vendor.attempts()[0].body(), "half");
    assert_eq!(vendor.attempts()[0].status(), Some(StatusCode::BAD_REQUEST));
    assert_eq!(get(&vendor, "/").await.status(), 429);
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending() {
    let vendor = MockVendor::in_process().script([reply(429).delay(S(60)), reply(200)]);

    let endless = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = Request::post(vendor.url("/")).body(endless).unwrap();
    assert!(timeout(S(1), vendor.service().oneshot(request)).await.is_err());
    vendor.assert_attempts(0);

    assert!(timeout(S(1), get(&vendor, "/")).await.is_err());
    vendor.assert_attempts(1);
    assert_eq!(vendor.attempts()[0].status(), Some(StatusCode::TOO_MANY_REQUESTS));
    assert_eq!(get(&vendor, "/").await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn clones_share_state() {
    let vendor = MockVendor::in_process().script([reply(429), reply(503), reply(200)]);
    let (service, clone) = (vendor.service(), vendor.clone());
    assert_eq!(get(&clone, "/").await.status(), 429);
    assert_eq!(get(&vendor, "/").await.status(), 503);
    drop(vendor);
    let request = Request::get("/").body(Full::<Bytes>::default()).unwrap();
    assert_eq!(service.clone().oneshot(request).await.unwrap().status(), 200);
    clone.assert_attempts(3);
}

#[tokio::test(start_paused = true)]
async fn a_closure_may_look_at_its_vendor_and_at_the_time() {
    let vendor = MockVendor::in_process();
    let seen_by = vendor.clone();
    vendor.set_script(respond_with(move |attempt| {
        let log = seen_by.attempts();
        assert_eq!((log.len(), log[attempt.number() - 1].status()), (attempt.number(), None));
        if attempt.since() < S(2) { reply(429) } else { reply(200) }
    }));
    assert_eq!(get(&vendor, "/").await.status(), 429);
    sleep(Duration::from_millis(1999)).await;
    assert_eq!(get(&vendor, "/").await.status(), 429);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(get(&vendor, "/").await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn panics_inside() {
    let vendor = MockVendor::in_process().script(respond_with(|attempt| {
        assert!(attempt.number() > 1, "the first attempt must not come");
        reply(200)
    }));
    assert!(AssertUnwindSafe(get(&vendor, "/")).catch_unwind().await.is_err());
    assert_eq!(vendor.attempts()[0].status(), None);
    assert_eq!(get(&vendor, "/").await.status(), 200);
    vendor.assert_attempts(2);
}

#[tokio::test]
async fn both_faces_share_scripts_and_log() {
    let vendor = MockVendor::start().await.script([reply(429), reply(200)]);
    assert_eq!(get(&vendor, "/in-process").await.status(), 429);
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .build_http::<Full<Bytes>>();
    let response = client.get(vendor.url("/on-the-wire").parse().unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    let paths: Vec<_> = vendor.attempts().into_iter().map(|attempt| attempt.path().to_owned()).collect();
    assert_eq!(paths, ["/in-process", "/on-the-wire"]);
}

#[test]
fn faces_and_futures_cross_threads() {
    fn crosses<T: Send + Sync + Clone>(_: &T) {}
    fn spawns<T: Send>(_: &T) {}
    let vendor = MockVendor::in_process();
    crosses(&vendor);
    crosses(&vendor.service());
    spawns(&vendor.service().oneshot(Request::new(Full::<Bytes>::default())));
    assert_eq!((vendor.uri().as_str(), vendor.authority().as_str()), ("http://vendor.test", "vendor.test"));
}

/// As on a socket, where the server sends none.
#[tokio::test(start_paused = true)]
async fn an_answer_that_ends_with_its_head_has_no_body() {
    let vendor = MockVendor::in_process()
        .route("/head", reply(200).body("whole").close_in_body(2))
        .route("/204", reply(204).body("whole").slow_body(1, Duration::from_secs(1)))
        .route("/304", reply(304).header("content-length", "9").body("whole"));
    for (method, path) in [("HEAD", "/head"), ("GET", "/204"), ("GET", "/304")] {
        let request = Request::builder().method(method).uri(path).body(Full::<Bytes>::default()).unwrap();
        let body = vendor.service().oneshot(request).await.unwrap().into_body();
        assert!(body.is_end_stream(), "{path}");
        assert_eq!(body.collect().await.unwrap().to_bytes(), "", "{path}");
    }
}
