//! The same faults as errors of the service and of its bodies, under a paused clock.

use std::io::{self, ErrorKind};
use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{MockBody, MockVendor, reply};
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

const S: fn(u64) -> Duration = Duration::from_secs;

async fn get(vendor: &MockVendor) -> io::Result<Response<MockBody>> {
    vendor.service().oneshot(Request::get("/").body(Empty::<Bytes>::new()).unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_before_the_head_is_an_error_of_the_call() {
    let vendor = MockVendor::in_process().script([
        reply(200).reset().delay(S(3)),
        reply(200).close_before_head(),
        reply(200),
    ]);
    let before = Instant::now();
    let error = get(&vendor).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(error.to_string(), "the mock vendor reset the connection");
    assert_eq!(before.elapsed(), S(3));
    let error = get(&vendor).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(error.to_string(), "the mock vendor closed the connection before the head");
    assert_eq!(get(&vendor).await.unwrap().status(), 200);
    let statuses: Vec<_> =
        vendor.attempts().iter().map(|attempt| attempt.status().map(|s| s.as_u16())).collect();
    assert_eq!(statuses, [None, None, Some(200)]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_in_the_body_is_an_error_of_the_body() {
    for (broken, promised, sent) in [
        (reply(503).body("0123456789").close_before_body(), 10, ""),
        (reply(503).body("0123456789").close_in_body(4), 10, "0123"),
        (reply(503).body("0123456789").close_in_body(10), 11, "0123456789"),
        (reply(503).close_before_body(), 1, ""),
    ] {
        let vendor = MockVendor::in_process().script(broken);
        let response = get(&vendor).await.unwrap();
        assert_eq!(response.status(), 503);
        let mut body = response.into_body();
        assert_eq!(body.size_hint().exact(), Some(promised));
        assert!(!body.is_end_stream());
        if !sent.is_empty() {
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), sent);
        }
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(error.to_string(), "the mock vendor closed the connection in the body");
        assert!(body.frame().await.is_none() && body.is_end_stream());
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_takes_its_time_on_the_paused_clock() {
    let vendor = MockVendor::in_process().script(reply(200).body("01234567").slow_body(3, S(20)));
    let start = Instant::now();
    let mut body = get(&vendor).await.unwrap().into_body();
    assert_eq!((start.elapsed(), body.size_hint().exact()), (S(0), Some(8)));
    for (piece, at) in [("012", 20), ("345", 40), ("67", 60)] {
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), piece);
        assert_eq!(start.elapsed(), S(at));
    }
    assert!(body.frame().await.is_none());
    assert_eq!(start.elapsed(), S(60), "the end comes with the last piece");
}

#[tokio::test(start_paused = true)]
async fn a_piece_waits_for_a_late_reader_and_the_next_is_counted_from_there() {
    let vendor = MockVendor::in_process().script(reply(200).body("01").slow_body(1, S(20)));
    let start = Instant::now();
    let mut body = get(&vendor).await.unwrap().into_body();
    sleep(S(100)).await;
    body.frame().await.unwrap().unwrap();
    assert_eq!(start.elapsed(), S(100));
    body.frame().await.unwrap().unwrap();
    assert_eq!(start.elapsed(), S(120));
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_may_break_off_and_an_empty_one_is_not_slow() {
    let vendor = MockVendor::in_process()
        .script([reply(200).body("0123").slow_body(2, S(5)).close_in_body(3), reply(200).slow_body(1, S(5))]);
    let start = Instant::now();
    let mut body = get(&vendor).await.unwrap().into_body();
    let mut seen = Vec::new();
    let error = loop {
        match body.frame().await.unwrap() {
            Ok(frame) => seen.push(frame.into_data().unwrap()),
            Err(error) => break error,
        }
    };
    assert_eq!((seen.concat().as_slice(), error.kind()), (b"012".as_slice(), ErrorKind::UnexpectedEof));
    assert_eq!(start.elapsed(), S(10));
    assert!(get(&vendor).await.unwrap().into_body().frame().await.is_none());
    assert_eq!(start.elapsed(), S(10));
}

#[tokio::test(start_paused = true)]
async fn a_half_close_is_a_plain_answer_and_the_last_fault_counts() {
    let vendor = MockVendor::in_process()
        .script([reply(200).body("whole").half_close(), reply(200).body("whole").reset().half_close()]);
    for _ in 0..2 {
        let response = get(&vendor).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "whole");
    }
}

#[test]
#[should_panic(expected = "a body in pieces of 0 bytes would never end")]
fn pieces_of_nothing_are_refused() {
    let _ = reply(200).slow_body(0, S(1));
}

#[tokio::test(start_paused = true)]
async fn a_false_length_is_a_body_that_breaks_off_or_is_cut() {
    let lie = |length: &str| reply(200).header("content-length", length).body("whole");
    let vendor = MockVendor::in_process().script([lie("8"), lie("2")]);
    let mut longer = get(&vendor).await.unwrap().into_body();
    assert_eq!(longer.frame().await.unwrap().unwrap().into_data().unwrap(), "whole");
    assert_eq!(longer.frame().await.unwrap().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let shorter = get(&vendor).await.unwrap().into_body();
    assert_eq!(shorter.collect().await.unwrap().to_bytes(), "wh");
}

/// A body that stalls for good, and is waited for longer than anybody does.
#[tokio::test(start_paused = true)]
async fn a_body_in_pieces_may_be_as_slow_as_can_be_said() {
    let vendor = MockVendor::in_process().script(reply(200).body("whole").slow_body(1, Duration::MAX));
    let mut body = get(&vendor).await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "w");
}
