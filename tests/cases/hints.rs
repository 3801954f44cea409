//! Wait hints, as the layers act on them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use forbear::{BudgetLayer, Error, RetryAfterLayer, Signal};
use forbear_mock::{MockVendor, Reply, reply};
use http::{Response, StatusCode};
use http_body_util::Full;
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{MILLISECOND, SECOND, automatic, get, impatient, registered, stacked};

/// The moment a vendor's clock shows: Sun, 06 Nov 1994 08:49:37 GMT.
const VENDOR_TIME: Duration = Duration::from_secs(784_111_777);
const FAR_TOO_LONG: [&str; 4] = [
    "9999999999",
    "18446744073709551615",
    "99999999999999999999",
    "9999999999999999999999999999999999999999",
];

/// One 429, then 200, met by the waiting layer alone: how long the logical request took.
async fn wait_after(limited: Reply) -> Duration {
    let mock = MockVendor::in_process().script([limited, reply(200)]);
    let (response, took) = without_a_gate(&mock, 3600 * SECOND).await;
    assert_eq!(response.status(), StatusCode::OK);
    mock.assert_attempts(2);
    took
}

/// One request through the budget and the waiting layer.
async fn without_a_gate(mock: &MockVendor, budget: Duration) -> (Response<forbear_mock::MockBody>, Duration) {
    let layers = ServiceBuilder::new().layer(BudgetLayer::new(budget)).layer(RetryAfterLayer::new());
    let start = Instant::now();
    let response = layers.service(mock.service()).oneshot(get("/a")).await.unwrap();
    (response, start.elapsed())
}

/// A hint is kept to: never less, and at most its jitter more.
#[track_caller]
fn assert_waited(took: Duration, hint: Duration, said: &str) {
    // A millisecond for the timer's own grain.
    let longest = hint + (hint / 10).min(SECOND) + 2 * MILLISECOND;
    assert!(took >= hint && took <= longest, "{said}: waited {took:?}, not {hint:?} to {longest:?}");
}

#[expect(clippy::disallowed_methods, reason = "a vendor without `Date` is read by the local wall clock")]
fn wall() -> SystemTime {
    SystemTime::now()
}

// kubescape/kubevuln#754: a hint of zero was obeyed to the letter and started the backoff again, 25,000 requests in
// 2 s.
#[tokio::test(start_paused = true)]
async fn a_hint_of_zero_or_of_the_past_is_no_hot_loop() {
    for limited in [reply(429).retry_after(0), reply(429).retry_after_date(wall() - 5 * SECOND)] {
        for gate in [true, false] {
            let mock = MockVendor::in_process().script(limited.clone());
            let start = Instant::now();
            let last = if gate {
                let hundred = 100.try_into().unwrap();
                let vendor = forbear::stack(&registered()).budget(2 * SECOND).attempts(hundred);
                vendor.service(mock.service()).send(get("/a")).await.unwrap().status()
            } else {
                without_a_gate(&mock, 2 * SECOND).await.0.status()
            };
            assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
            assert!(start.elapsed() < 2 * SECOND);
            let attempts = mock.attempts();
            assert!((3..=8).contains(&attempts.len()), "{} attempts", attempts.len());
            attempts.assert_gap_at_least(250 * MILLISECOND);
            let gaps: Vec<_> = attempts.windows(2).map(|two| two[1].at() - two[0].at()).collect();
            assert!(gaps.windows(2).all(|two| two[1] > two[0] * 3 / 2), "the backoff grows: {gaps:?}");
        }
    }
}

// openai/openai-java#853: a negative delay made the sleep throw, and a call that could be retried failed.
#[tokio::test(start_paused = true)]
async fn a_negative_or_elapsed_hint_waits_the_layers_own_floor() {
    for limited in [
        reply(429).retry_after_text("-1"),
        reply(429).retry_after_text("-0"),
        reply(429).retry_after_date(wall() - 5 * SECOND),
        reply(429).retry_after_date(UNIX_EPOCH),
    ] {
        let said = format!("{limited:?}");
        assert_waited(wait_after(limited).await, 250 * MILLISECOND, &said);
    }
}

// urllib3/urllib3#3743: a huge hint overflowed the sleep.
#[tokio::test(start_paused = true)]
async fn a_huge_hint_is_returned_in_full_and_cools_for_at_most_a_day() {
    let saturated = Duration::from_secs(1 << 31);
    for huge in FAR_TOO_LONG {
        let mock = MockVendor::in_process().script(reply(429).retry_after_text(huge));
        let families = registered();
        let vendor = stacked(&families, 30 * SECOND, &mock);
        let response = vendor.send(get("/a")).await.unwrap();
        let signal = response.extensions().get::<Signal>().unwrap();
        assert_eq!(signal.delay.unwrap().duration, saturated, "{huge}");
        let Err(Error::Cooling(cooling)) = vendor.send(get("/b")).await else {
            unreachable!("the family cools")
        };
        assert_eq!(cooling.signal().unwrap().delay.unwrap().duration, saturated);
        assert_eq!(cooling.retry_in(), Some(24 * 3600 * SECOND));
        assert!(cooling.retry_at().is_some() && !cooling.to_string().is_empty());
        mock.assert_attempts(1);
    }
}

// urllib3/urllib3#3743: the same without a gate, and with a caller who would wait for ever.
#[tokio::test(start_paused = true)]
async fn a_huge_hint_overflows_no_timer() {
    for huge in FAR_TOO_LONG {
        let mock = MockVendor::in_process().script(reply(429).retry_after_text(huge));
        let layers =
            ServiceBuilder::new().layer(BudgetLayer::new(Duration::MAX)).layer(RetryAfterLayer::new());
        let alone = layers.service(mock.service());
        let waits = tokio::time::timeout(7 * 24 * 3600 * SECOND, alone.clone().oneshot(get("/a"))).await;
        assert!(waits.is_err(), "{huge}: {waits:?}");
        let first = alone.clone().oneshot(impatient("/b")).await.unwrap();
        assert_eq!(first.status(), 429);
        let Err(Error::Cooling(recorded)) = alone.clone().oneshot(impatient("/b")).await else {
            unreachable!("the URL has a deadline")
        };
        assert!(recorded.retry_in().unwrap() <= 24 * 3600 * SECOND, "{recorded}");
        let vendor = stacked(&registered(), Duration::MAX, &mock);
        let waits = tokio::time::timeout(7 * 24 * 3600 * SECOND, vendor.send(get("/a"))).await;
        assert!(waits.is_err(), "{huge}: the hint is longer than the cool-down, and holds for its request");
    }
}

// opensearch-project/data-prepper#6927, urllib3/urllib3#2861, getsentry/sentry#7919: fractions were dropped as
// malformed.
#[tokio::test(start_paused = true)]
async fn fractions_of_seconds_are_waited_and_rounded_up() {
    for (text, hint) in [("0.503", 503), ("299.997", 299_997), ("1.0001", 1001), ("2.0", 2000)] {
        assert_waited(wait_after(reply(429).retry_after_text(text)).await, hint * MILLISECOND, text);
    }
    for text in ["1.", ".5", "1e3", "NaN", "inf", "+1", "soon", ""] {
        assert_waited(wait_after(reply(429).retry_after_text(text)).await, 250 * MILLISECOND, text);
    }
}

// vercel/fetch-retry#31: the date form was not understood, and nothing was waited.
#[tokio::test(start_paused = true)]
async fn all_three_forms_of_a_date_are_waited() {
    for form in
        ["Sun, 06 Nov 1994 08:50:07 GMT", "Sunday, 06-Nov-94 08:50:07 GMT", "Sun Nov  6 08:50:07 1994"]
    {
        let limited = reply(429).retry_after_text(form).header("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_waited(wait_after(limited).await, 30 * SECOND, form);
    }
    let took = wait_after(reply(429).retry_after_date(wall() + 30 * SECOND)).await;
    assert!((29 * SECOND..=31 * SECOND).contains(&took), "by the local clock: {took:?}");
}

// Azure/azure-sdk-for-net#5268: seconds were read as milliseconds.
#[tokio::test(start_paused = true)]
async fn every_header_is_read_in_its_own_unit() {
    for (name, value) in [
        ("retry-after", "5"),
        ("retry-after-ms", "5000"),
        ("x-ms-retry-after-ms", "5000"),
        ("x-amz-retry-after", "5000"),
    ] {
        assert_waited(wait_after(reply(429).header(name, value)).await, 5 * SECOND, name);
    }
}

// discord/discord-api-docs#1069: an absolute time met a client whose clock was wrong.
#[tokio::test(start_paused = true)]
async fn a_date_is_taken_relative_to_the_vendors_clock() {
    let ten_minutes = 600 * SECOND;
    for vendor_clock in [wall() - ten_minutes, wall() + ten_minutes, UNIX_EPOCH + VENDOR_TIME] {
        let date = httpdate(vendor_clock);
        let limited = reply(429).retry_after_date(vendor_clock + 30 * SECOND).header("date", &date);
        let families = registered();
        let mock = MockVendor::in_process().script([limited, reply(200)]);
        let start = Instant::now();
        let response = stacked(&families, 60 * SECOND, &mock).send(get("/a")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_waited(start.elapsed(), 30 * SECOND, &date);
    }
}

/// As a vendor writes it in `Date`.
fn httpdate(at: SystemTime) -> String {
    let limited = MockVendor::in_process().script(reply(429).retry_after_date(at));
    let request = http::Request::get("/").body(Full::<Bytes>::default()).unwrap();
    let response =
        futures_util::FutureExt::now_or_never(limited.service().oneshot(request)).unwrap().unwrap();
    response.headers()["retry-after"].to_str().unwrap().to_owned()
}

// kubernetes/kubernetes#26871, kubernetes/kubernetes#27965: without a hint nothing was retried; elsewhere at once.
#[tokio::test(start_paused = true)]
async fn without_a_hint_the_request_is_neither_given_up_nor_sent_at_once() {
    assert_waited(wait_after(reply(429)).await, 250 * MILLISECOND, "no gate");
    for (families, rung) in [(automatic(), 5 * SECOND), (registered(), 120 * SECOND)] {
        let mock = MockVendor::in_process().script([reply(429), reply(200)]);
        let start = Instant::now();
        let response = stacked(&families, 300 * SECOND, &mock).send(get("/a")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_waited(start.elapsed(), rung, "the ladder's first rung");
        let mock = MockVendor::in_process().script([reply(429), reply(200)]);
        let start = Instant::now();
        let response = stacked(&families, 4 * SECOND, &mock).send(get("/other")).await.unwrap();
        assert_eq!((response.status(), start.elapsed()), (StatusCode::TOO_MANY_REQUESTS, Duration::ZERO));
    }
}
