//! What assertions accept, what they refuse, and what they print.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{Attempt, Attempts, Limiter, MockVendor, reply, respond_with};
use http::Request;
use http_body_util::Full;
use tokio::time::sleep;
use tower::ServiceExt;

const MS: fn(u64) -> Duration = Duration::from_millis;

async fn get(vendor: &MockVendor, path: &str) {
    let request = Request::get(vendor.url(path)).body(Full::<Bytes>::default()).unwrap();
    vendor.service().oneshot(request).await.unwrap();
}

/// Attempts 0 s, 1.2 s and 6.2 s after the first; the second on another route.
async fn three_attempts() -> MockVendor {
    let vendor = MockVendor::in_process()
        .script([reply(429).retry_after(5).retry_after_text("6"), reply(200)])
        .route("/b", reply(503).delay(MS(250)));
    get(&vendor, "/a?key=secret").await;
    sleep(MS(1200)).await;
    get(&vendor, "/b").await;
    sleep(MS(4750)).await;
    get(&vendor, "/a").await;
    vendor
}

fn message(assertion: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(assertion)).expect_err("the assertion passed");
    match panic.downcast::<String>() {
        Ok(formatted) => *formatted,
        Err(panic) => (*panic.downcast::<&str>().expect("a message")).to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn count() {
    let vendor = three_attempts().await;
    vendor.assert_attempts(3);
    vendor.assert_attempts_on("/a", 2);
    vendor.assert_attempts_on("/c", 0);
    let all = "attempts: 3
  #1            +0ns  GET /a  429 retry-after: 5 retry-after: 6
  #2           +1.2s  GET /b  503 after 250ms
  #3           +6.2s  GET /a  200";
    for n in [2, 4] {
        let expected = format!("expected {n} attempts, there are 3\n{all}");
        assert_eq!(message(|| vendor.assert_attempts(n)), expected);
    }
    let on_b = "expected 2 attempts, there are 1\nattempts on /b: 1
  #2           +1.2s  GET /b  503 after 250ms";
    assert_eq!(message(|| vendor.assert_attempts_on("/b", 2)), on_b);
}

#[tokio::test(start_paused = true)]
async fn gap_at_least() {
    let vendor = three_attempts().await;
    vendor.assert_gap_at_least(MS(1200));
    vendor.attempts_on("/a").assert_gap_at_least(MS(6200));
    let expected = "expected at least 1.201s between attempts, but #2 came 1.2s after #1\nattempts: 3
  #1            +0ns  GET /a  429 retry-after: 5 retry-after: 6
  #2           +1.2s  GET /b  503 after 250ms  <-- 1.2s after #1
  #3           +6.2s  GET /a  200";
    assert_eq!(message(|| vendor.assert_gap_at_least(MS(1201))), expected);
}

#[tokio::test(start_paused = true)]
async fn gap_at_most() {
    let attempts = three_attempts().await.attempts();
    attempts.assert_gap_at_most(MS(5000));
    let message = message(|| attempts.assert_gap_at_most(MS(4999)));
    assert!(message.starts_with("expected at most 4.999s between attempts, but #3 came 5s after #2\n"));
    assert!(message.ends_with("#3           +6.2s  GET /a  200  <-- 5s after #2"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn rate_at_most() {
    let vendor = three_attempts().await;
    vendor.assert_rate_at_most(1, MS(1200));
    vendor.assert_rate_at_most(2, MS(6200));
    let expected = "expected at most 1 in any 1.201s, but #2 came 1.2s after #1\nattempts: 3
  #1            +0ns  GET /a  429 retry-after: 5 retry-after: 6
  #2           +1.2s  GET /b  503 after 250ms  <-- 1.2s after #1
  #3           +6.2s  GET /a  200";
    assert_eq!(message(|| vendor.assert_rate_at_most(1, MS(1201))), expected);
    let message = message(|| vendor.assert_rate_at_most(2, MS(6201)));
    assert!(
        message.starts_with("expected at most 2 in any 6.201s, but #3 came 6.2s after #1\n"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn refused_and_accepted() {
    let vendor = MockVendor::in_process()
        .script([reply(200), reply(429), reply(200)])
        .limit(Limiter::concurrency(1).on("/b").refusal(reply(503)))
        .route("/b", reply(200).body("held"))
        .outage_between(MS(1000), MS(2000), reply(500));
    let request = || Request::get(vendor.url("/b")).body(Full::<Bytes>::default()).unwrap();
    let held = vendor.service().oneshot(request()).await.unwrap();
    for path in ["/a", "/a", "/b"] {
        get(&vendor, path).await;
    }
    sleep(MS(1000)).await;
    get(&vendor, "/a").await;
    drop(held);
    let refused = "expected 0 attempts, there are 3\nrefused attempts: 3
  #3            +0ns  GET /a  429
  #4            +0ns  GET /b  503
  #5             +1s  GET /a  500";
    assert_eq!(message(|| vendor.attempts().refused().assert_count(0)), refused);
    let accepted = "expected 0 attempts, there are 1\naccepted attempts on /b: 1
  #1            +0ns  GET /b  200";
    assert_eq!(message(|| vendor.attempts_on("/b").accepted().assert_count(0)), accepted);
    let numbers: Vec<_> = vendor.attempts().accepted().iter().map(Attempt::number).collect();
    assert_eq!(numbers, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_fault_is_shown_as_what_it_was() {
    let vendor = MockVendor::in_process().script([
        reply(429).retry_after(1).reset().delay(MS(5)),
        reply(200).close_before_head(),
        reply(200).close_before_body(),
        reply(503).retry_after(1).body("four").close_in_body(3).delay(MS(5)),
        reply(200).half_close(),
        reply(200).body("0123").slow_body(2, MS(250)),
    ]);
    for _ in 0..6 {
        let request = Request::get(vendor.url("/")).body(Full::<Bytes>::default()).unwrap();
        let _ = vendor.service().oneshot(request).await;
    }
    let expected = "expected 0 attempts, there are 6\nattempts: 6
  #1            +0ns  GET /  reset after 5ms
  #2            +5ms  GET /  closed before the head
  #3            +5ms  GET /  200, closed before the body
  #4            +5ms  GET /  503 retry-after: 1 after 5ms, closed after 3 bytes of the body
  #5           +10ms  GET /  200, half-closed
  #6           +10ms  GET /  200, 2 bytes of the body every 250ms";
    assert_eq!(message(|| vendor.assert_attempts(0)), expected);
    vendor.attempts().refused().assert_count(0);
}

#[tokio::test(start_paused = true)]
async fn quiet_between() {
    let attempts = three_attempts().await.attempts();
    attempts.assert_quiet_between(MS(1), MS(1200));
    attempts.assert_quiet_between(MS(1201), MS(6200));
    attempts.assert_quiet_between(MS(6201), Duration::MAX);
    let message = message(|| attempts.assert_quiet_between(MS(1200), MS(6201)));
    assert!(message.starts_with("expected silence from 1.2s to 6.201s, but 2 arrived\n"), "{message}");
    assert!(message.contains("503 after 250ms  <-- here\n"), "{message}");
    assert!(message.ends_with("200  <-- here"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn what_shows_nothing_does_not_pass() {
    let vendor = MockVendor::in_process().script(reply(200));
    let none = "expected at most 1 in any 1s, but there are none\nattempts: 0";
    assert_eq!(message(|| vendor.assert_rate_at_most(1, MS(1000))), none);
    let none = "expected silence from 0ns to 1s, but no attempt arrived at all\nattempts: 0";
    assert_eq!(message(|| vendor.attempts().assert_quiet_between(MS(0), MS(1000))), none);
    get(&vendor, "/").await;
    let one = "expected at least 1s between attempts, but there are fewer than two\nattempts: 1
  #1            +0ns  GET /  200";
    assert_eq!(message(|| vendor.assert_gap_at_least(MS(1000))), one);
    let one = message(|| vendor.attempts().assert_gap_at_most(MS(1000)));
    assert!(one.starts_with("expected at most 1s between attempts, but there are fewer than two"));
    vendor.assert_rate_at_most(1, MS(1000));
    let silence = message(|| vendor.assert_rate_at_most(0, MS(1000)));
    assert_eq!(silence, "a rate of 0 is silence: assert a count of 0");
    let instant = message(|| vendor.assert_rate_at_most(1, MS(0)));
    assert_eq!(instant, "nothing comes within 0 seconds: give the rate a window");
    let empty = message(|| vendor.attempts().assert_quiet_between(MS(5), MS(5)));
    assert_eq!(empty, "the span from 5ms to 5ms is empty: nothing can arrive in it");
}

#[tokio::test(start_paused = true)]
async fn a_gap_that_falls_short_by_a_nanosecond_does_not_read_as_if_it_held() {
    let vendor = MockVendor::in_process().script(reply(200));
    get(&vendor, "/").await;
    tokio::time::advance(MS(5000) - Duration::from_nanos(1)).await;
    get(&vendor, "/").await;
    let message = message(|| vendor.assert_gap_at_least(MS(5000)));
    assert!(message.contains("expected at least 5s between attempts, but #2 came 4.999999s after #1"));
}

#[tokio::test(start_paused = true)]
async fn a_long_log_is_cut_around_what_matters() {
    let vendor = MockVendor::in_process().script(reply(200));
    for i in 1..=1000 {
        get(&vendor, "/").await;
        sleep(if i == 500 { MS(1) } else { MS(10) }).await;
    }
    let message = message(|| vendor.assert_gap_at_least(MS(10)));
    let lines: Vec<_> = message.lines().map(str::trim).collect();
    assert_eq!(lines.len(), 2 + 30 + 1 + 2 + 1 + 10, "{message}");
    assert_eq!((lines[32], lines[35]), ("... 469 more", "... 489 more"));
    assert!(lines[33].starts_with("#500 ") && lines[34].ends_with("<-- 1ms after #500"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_attempt_is_shown_as_one() {
    let vendor = MockVendor::in_process();
    let (seen_by, snapshot) = (vendor.clone(), std::sync::Arc::new(std::sync::OnceLock::<Attempts>::new()));
    let taken = std::sync::Arc::clone(&snapshot);
    vendor.set_script(respond_with(move |_| {
        taken.set(seen_by.attempts()).expect("one attempt");
        reply(200)
    }));
    get(&vendor, "/").await;
    let message = message(|| snapshot.get().expect("taken").assert_count(0));
    assert!(message.ends_with("GET /  not answered"), "{message}");
}

#[test]
#[should_panic(expected = "an empty script has no answer to give: script at least one reply")]
fn an_empty_script_is_refused() {
    let _ = MockVendor::in_process().script([]);
}

#[test]
#[should_panic(expected = "an empty script has no answer to give: script at least one reply")]
fn an_empty_script_of_a_route_is_refused() {
    MockVendor::in_process().set_route("/", vec![]);
}

#[test]
#[should_panic(expected = "a path begins with a slash: \"chart\" does not")]
fn a_route_without_a_slash_is_refused() {
    let _ = MockVendor::in_process().route("chart", reply(200));
}

#[test]
#[should_panic(expected = "a route is a path without a query: \"/chart?x=1\" would never match")]
fn a_route_with_a_query_is_refused() {
    let _ = MockVendor::in_process().route("/chart?x=1", reply(200));
}
