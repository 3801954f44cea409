//! Faults in reading a wait hint that others have met in public.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forbear_core::dialect::Dialect;
use forbear_core::signal::Signal;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

const NOW: Duration = Duration::from_secs(1_795_996_800); // Mon, 30 Nov 2026 00:00:00 GMT

/// The signal of a 429 with `lines`, received when the local clock showed `wall`.
fn limited_at(wall: SystemTime, lines: &[(&'static str, &str)]) -> Signal {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    let reading = Dialect::standard().read_head(StatusCode::TOO_MANY_REQUESTS, &headers, wall);
    reading.into_signal().expect("a 429 is always a signal")
}

fn limited(lines: &[(&'static str, &str)]) -> Signal {
    limited_at(UNIX_EPOCH + NOW, lines)
}

fn delay(signal: &Signal) -> Option<Duration> {
    signal.delay.map(|delay| delay.duration)
}

// openai/openai-java#853
#[test]
fn negative_and_elapsed_hints_make_no_negative_wait() {
    for malformed in ["-1", "-0", "-1.5", "-99999999999999999999"] {
        let signal = limited(&[("retry-after", malformed)]);
        assert_eq!((delay(&signal), signal.reason.as_str()), (None, "malformed-retry-after"), "{malformed}");
        assert!(signal.retryable, "{malformed}");
    }
    let elapsed = limited(&[("retry-after", "Sun, 29 Nov 2026 23:59:55 GMT")]);
    assert_eq!((delay(&elapsed), elapsed.reason.as_str()), (Some(Duration::ZERO), "retry-after"));
    assert!(elapsed.retryable);
}

// urllib3/urllib3#3743
#[test]
fn huge_hints_saturate() {
    for huge in
        ["9999999999", "18446744073709551615", "99999999999999999999", &"9".repeat(40), "9999999999.9"]
    {
        assert_eq!(delay(&limited(&[("retry-after", huge)])), Some(Duration::from_secs(1 << 31)), "{huge}");
    }
}

// opensearch-project/data-prepper#6927, urllib3/urllib3#2861, getsentry/sentry#7919
#[test]
fn fractional_seconds_are_read_and_rounded_up() {
    for (decimal, millis) in [("0.503", 503), ("299.997", 299_997), ("0.0001", 1), ("1.0009", 1_001)] {
        assert_eq!(
            delay(&limited(&[("retry-after", decimal)])),
            Some(Duration::from_millis(millis)),
            "{decimal}"
        );
    }
    for refused in ["1e3", "1.", ".5", "NaN", "inf"] {
        let signal = limited(&[("retry-after", refused)]);
        assert_eq!((delay(&signal), signal.reason.as_str()), (None, "malformed-retry-after"), "{refused}");
    }
}

// vercel/fetch-retry#31
#[test]
fn all_three_forms_of_a_date_are_waited_for() {
    for date in
        ["Mon, 30 Nov 2026 00:00:30 GMT", "Monday, 30-Nov-26 00:00:30 GMT", "Mon Nov 30 00:00:30 2026"]
    {
        let signal = limited(&[("retry-after", date)]);
        assert_eq!(delay(&signal), Some(Duration::from_secs(30)), "{date}");
        assert!(signal.delay.unwrap().absolute, "{date}");
    }
}

// Azure/azure-sdk-for-net#5268
#[test]
fn every_header_is_read_in_its_own_unit() {
    for (header, value) in [
        ("retry-after", "5"),
        ("retry-after-ms", "5000"),
        ("x-ms-retry-after-ms", "5000"),
        ("x-amz-retry-after", "5000"),
    ] {
        let signal = limited(&[(header, value)]);
        assert_eq!(delay(&signal), Some(Duration::from_secs(5)), "{header}");
        assert_eq!(signal.evidence.source, header);
    }
}

// discord/discord-api-docs#1069
#[test]
fn a_wrong_local_clock_does_not_move_a_date() {
    let ten_minutes = Duration::from_secs(600);
    for wall in [UNIX_EPOCH + NOW - ten_minutes, UNIX_EPOCH + NOW, UNIX_EPOCH + NOW + ten_minutes] {
        let date = ("date", "Mon, 30 Nov 2026 00:00:00 GMT");
        let signal = limited_at(wall, &[date, ("retry-after", "Mon, 30 Nov 2026 00:00:30 GMT")]);
        assert_eq!(delay(&signal), Some(Duration::from_secs(30)));
    }
}

// kubernetes/kubernetes#26871, kubernetes/kubernetes#27965
#[test]
fn a_429_without_a_hint_is_retryable_after_an_unknown_time() {
    let signal = limited(&[]);
    assert!(signal.retryable);
    assert_eq!((signal.delay, signal.reason.as_str()), (None, "status-429"));
}
