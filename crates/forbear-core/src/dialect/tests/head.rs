//! What the standard dialect reads in a head.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{Dialect, Reading, Verdict};
use crate::signal::{Class, Delay, Evidence};

type Lines = Vec<(&'static str, Vec<u8>)>;

fn read(status: u16, lines: &[(&'static str, Vec<u8>)]) -> Reading {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(HeaderName::from_static(name), value);
        }
    }
    let wall = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(1_795_996_800)).unwrap();
    Dialect::standard().read_head(StatusCode::from_u16(status).unwrap(), &headers, wall)
}

fn delay(lines: &[(&'static str, &str)]) -> Option<Duration> {
    let lines: Lines = lines.iter().map(|(name, value)| (*name, value.as_bytes().to_vec())).collect();
    read(429, &lines).signal().unwrap().delay.map(|delay| delay.duration)
}

#[test]
fn the_first_source_above_zero_wins() {
    let ms = Duration::from_millis;
    assert_eq!(delay(&[("retry-after", "2"), ("retry-after-ms", "1500")]), Some(ms(1500)));
    assert_eq!(delay(&[("x-amz-retry-after", "3"), ("x-ms-retry-after-ms", "2")]), Some(ms(2)));
    assert_eq!(delay(&[("retry-after", "2"), ("retry-after-ms", "0")]), Some(ms(2000)));
    assert_eq!(delay(&[("retry-after", "2"), ("retry-after-ms", "soon")]), Some(ms(2000)));
    assert_eq!(delay(&[("retry-after", "soon"), ("retry-after-ms", "0")]), Some(ms(0)));
    assert_eq!(delay(&[("retry-after", "0"), ("retry-after-ms", "soon")]), Some(ms(0)));
    assert_eq!(delay(&[("retry-after", "soon"), ("retry-after-ms", "-1")]), None);
}

#[test]
fn the_evidence_is_the_line_that_was_read() {
    let evidence = |lines: &[(&'static str, Vec<u8>)]| read(429, lines).into_signal().unwrap().evidence;
    let lines = [
        ("retry-after-ms", b"soon".to_vec()),
        ("retry-after", b"5".to_vec()),
        ("retry-after", b"9".to_vec()),
    ];
    assert_eq!(evidence(&lines), Evidence { source: "retry-after".into(), value: "9".into() });
    assert_eq!(evidence(&lines[..1]), Evidence { source: "retry-after-ms".into(), value: "soon".into() });
    let unread = [("x-ms-retry-after-ms", b"later".to_vec()), lines[0].clone()];
    assert_eq!(evidence(&unread).value.as_ref(), "soon", "the first that is there");
    let zero = [("retry-after", b"00".to_vec()), ("retry-after-ms", b"0".to_vec())];
    assert_eq!(evidence(&zero).value.as_ref(), "0", "the first that can be read");
    let zero = [("retry-after", b"soon".to_vec()), ("retry-after-ms", b"0".to_vec())];
    assert_eq!(evidence(&zero).value.as_ref(), "0", "what cannot be read takes no place of a zero");
    assert_eq!(evidence(&[]), Evidence { source: "status".into(), value: "".into() });
    let hostile = [("retry-after", [b"\xff\t".as_slice(), &[b'x'; 100]].concat())];
    assert_eq!(&*evidence(&hostile).value, format!("\u{fffd}{}", "x".repeat(61)));
}

#[test]
fn all_that_was_read_is_told_once_and_what_decided_first() {
    let told = |status, lines: &[(&'static str, &str)]| {
        let lines: Lines = lines.iter().map(|(name, value)| (*name, value.as_bytes().to_vec())).collect();
        let evidence = read(status, &lines).evidence;
        evidence.into_iter().map(|one| format!("{}={}", one.source, one.value)).collect::<Vec<_>>()
    };
    assert_eq!(told(429, &[]), ["status="]);
    assert_eq!(told(200, &[]), Vec::<String>::new());
    let left = ("x-ratelimit-remaining", "0");
    assert_eq!(told(429, &[("retry-after", "5"), left]), ["retry-after=5", "x-ratelimit-remaining=0"]);
    assert_eq!(
        told(429, &[left, ("x-ratelimit-reset", "7")]),
        ["x-ratelimit-reset=7", "x-ratelimit-remaining=0"]
    );
    assert_eq!(told(429, &[("x-ratelimit-remaining", "3")]), ["status="]);
    assert_eq!(told(200, &[("x-ratelimit-remaining", "3")]), ["x-ratelimit-remaining=3"]);
    let policies = r#""a";r=0;t=5, "b";r=0;t=9"#;
    assert_eq!(told(429, &[("ratelimit", policies)]), [format!("ratelimit={policies}")]);
    assert_eq!(told(200, &[("ratelimit", policies)]), [format!("ratelimit={policies}")]);
}

#[test]
fn a_quota_is_written_with_its_durations_in_milliseconds() {
    let lines = [
        ("ratelimit", b"\"a\";r=0;t=5".to_vec()),
        ("ratelimit-policy", b"\"a\";q=9;w=60".to_vec()),
        ("x-ratelimit-remaining", b"3".to_vec()),
    ];
    let written: Vec<_> =
        read(200, &lines).quotas.iter().map(|quota| serde_json::to_string(quota).unwrap()).collect();
    assert_eq!(
        written,
        [
            r#"{"name":"a","limit":9,"remaining":0,"reset_ms":5000,"window_ms":60000,"exhausted":true}"#,
            r#"{"name":null,"limit":null,"remaining":3,"reset_ms":null,"window_ms":null,"exhausted":false}"#,
        ]
    );
}

#[test]
fn a_policy_of_no_name_has_none() {
    let reading = read(429, &[("ratelimit", b"\"\";r=0;t=5".to_vec())]);
    assert_eq!((reading.quotas.len(), &reading.quotas[0].name), (1, &None));
    assert_eq!(reading.signal().unwrap().limit, None);
}

#[test]
fn the_reset_of_a_policy_saturates_as_other_delays_do() {
    let reading = read(429, &[("ratelimit", b"\"a\";r=0;t=999999999999999".to_vec())]);
    let duration = Duration::from_secs(1 << 31);
    assert_eq!(reading.signal().unwrap().delay, Some(Delay { duration, absolute: false }));
}

#[test]
fn the_name_of_a_policy_is_cut_with_its_partition_key() {
    let key = format!("\"{}\";r=0;pk=:{}:", "n".repeat(100), "QUFB".repeat(20));
    let name = read(429, &[("ratelimit", key.into_bytes())]).quotas[0].name.clone().unwrap();
    assert_eq!(&*name, format!("{};pk={}", "n".repeat(100), "QUFB".repeat(6)));
}

#[test]
fn a_status_without_rules_is_good_or_neutral() {
    for status in [200, 204, 299, 301, 304, 404, 409, 422] {
        assert_eq!(read(status, &[]).verdict, Verdict::Good, "{status}");
    }
    for status in [100, 101, 400, 401, 403, 408, 500, 502, 503, 504, 599, 999] {
        assert_eq!(read(status, &[]).verdict, Verdict::Neutral, "{status}");
    }
}

#[test]
fn what_comes_from_a_cache_is_neutral_and_a_signal_is_marked() {
    let aged = ("age", b"20".to_vec());
    assert_eq!(read(200, std::slice::from_ref(&aged)).verdict, Verdict::Neutral);
    assert_eq!(read(200, &[("age", b"0".to_vec())]).verdict, Verdict::Good);
    let signal = read(503, &[aged, ("retry-after", b"60".to_vec())]).into_signal().unwrap();
    assert!(signal.aged);
    assert_eq!(signal.delay, Some(Delay { duration: Duration::from_secs(40), absolute: false }));
}

#[test]
fn only_a_429_says_that_the_request_was_not_carried_out() {
    let hint = [("retry-after", b"1".to_vec())];
    let not_executed =
        |status| read(status, &hint).into_signal().map(|signal| (signal.class, signal.not_executed));
    assert_eq!(not_executed(429), Some((Class::Throttled, true)));
    assert_eq!(not_executed(503), Some((Class::Overloaded, false)));
    assert_eq!(not_executed(529), Some((Class::Overloaded, false)));
    assert_eq!(not_executed(500), None);
}

#[test]
fn a_status_that_may_not_limit_never_does() {
    let dialect = Dialect::standard();
    for status in 100..=999 {
        let may = dialect.may_limit(StatusCode::from_u16(status).unwrap());
        assert_eq!(read(status, &[("retry-after", b"1".to_vec())]).signal().is_some(), may, "{status}");
    }
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let day = "(Mon, |Monday, )?[0-9]{1,2}[ -](Nov|Feb)[ -]([0-9]{2}|[0-9]{4}) 0[0-9]:00:[0-6][0-9]( GMT)?";
    let known = "[ \t]?(0|-1|1\\.|1\\.5|10, 30|99999999999999999999|9999|,|Mon)[ \t]?";
    prop_oneof![vec(any::<u8>(), 0..60), known.prop_map(String::into_bytes), day.prop_map(String::into_bytes)]
}

fn lines() -> impl Strategy<Value = Lines> {
    let name = prop_oneof![
        Just("retry-after"),
        Just("retry-after-ms"),
        Just("x-ms-retry-after-ms"),
        Just("x-amz-retry-after"),
        Just("date"),
        Just("age"),
    ];
    vec((name, value()), 0..8)
}

proptest! {
    /// An absolute delay is at most the ten thousand years that a date can tell.
    #[test]
    fn any_head_has_a_reading_within_bounds(status in 100..1000_u16, lines in lines()) {
        let reading = read(status, &lines);
        let delay = reading.information.or(reading.signal().and_then(|signal| signal.delay));
        if let Some(Delay { duration, absolute }) = delay {
            let longest = if absolute { 366 * 86_400 * 10_000 } else { 1 << 31 };
            prop_assert!(duration <= Duration::from_secs(longest), "{duration:?}");
            prop_assert_eq!(duration.subsec_nanos() % 1_000_000, 0);
        }
    }

    #[test]
    fn the_order_of_lines_is_irrelevant(
        status in prop_oneof![Just(429), Just(503), Just(200)],
        (lines, shuffled) in lines().prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle())),
    ) {
        let essence = |lines: &Lines| {
            let reading = read(status, lines);
            let signal = reading.signal().map(|signal| (signal.class, signal.delay, signal.reason.clone(), signal.aged));
            (signal, reading.information, reading.reason)
        };
        prop_assert_eq!(essence(&lines), essence(&shuffled));
    }
}
