//! What the standard dialect reads in a body.

use std::time::SystemTime;

use http::{HeaderMap, StatusCode};
use proptest::prelude::*;

use super::super::Dialect;
use crate::signal::{Class, Evidence, Reason, Signal};

const CONCURRENCY: [&str; 4] =
    ["inflight_limit", "oldest_inflight_age", "router_inflight_limit", "durable_object_overloaded"];

fn signal(body: &[u8]) -> Signal {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let reading = Dialect::standard().read_body(status, &HeaderMap::new(), body, SystemTime::UNIX_EPOCH);
    reading.into_signal().unwrap()
}

fn reason(body: &str) -> String {
    signal(body.as_bytes()).reason.to_string()
}

#[test]
fn the_first_place_with_a_code_is_read() {
    assert_eq!(reason(r#"{"reason":"c","data":{"reason":"b"},"details":{"reason":"a"}}"#), "a");
    assert_eq!(reason(r#"{"reason":"c","data":{"reason":"b"},"details":{"reason":[]}}"#), "b");
    assert_eq!(reason(r#"{"reason":"c","data":["reason"],"details":"reason"}"#), "c");
    assert_eq!(reason(r#"{"reason":" \u0000\n","items":[{"reason":"x"}]}"#), "status-429");
    assert_eq!(reason(r#"{"reason":"daily\u001b[2J\r\n_quota"}"#), "daily[2J_quota");
}

#[test]
fn the_evidence_says_where_and_what() {
    let evidence = signal(br#"{"details":{"reason":"inflight_limit"}}"#).evidence;
    assert_eq!(evidence, Evidence { source: "/details/reason".into(), value: "inflight_limit".into() });
}

#[test]
fn concurrency_is_overload() {
    for code in CONCURRENCY.into_iter().chain(["tenant-concurrency"]) {
        assert_eq!(signal(format!(r#"{{"reason":"{code}"}}"#).as_bytes()).class, Class::Overloaded, "{code}");
    }
    for code in ["quota", "concurrency", "Inflight_limit", "tenant-concurrency-free"] {
        assert_eq!(signal(format!(r#"{{"reason":"{code}"}}"#).as_bytes()).class, Class::Throttled, "{code}");
    }
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let nested = format!(r#"{{"reason":"a","deep":{}"#, "[".repeat(16_000));
    let many = format!(r#"{{"reason":{}"#, r#"{"reason":"#.repeat(1_500));
    for body in
        ["", "{", r#"{"reason":"a""#, r#"{"reason":"a"} x"#, r#""reason""#, "null", "<p>", &nested, &many]
    {
        assert_eq!(reason(body), "status-429");
    }
    assert_eq!(signal(b"{\"reason\":\"\xff").reason.as_str(), "status-429");
}

proptest! {
    #[test]
    fn any_bytes_leave_a_clean_reason(body: Vec<u8>) {
        let reason = signal(&body).reason;
        prop_assert!(reason.as_str().len() <= Reason::MAX);
    }

    #[test]
    fn a_body_cut_anywhere_says_what_the_head_said(at in 0..47_usize) {
        let body = br#"{"code":"busy","details":{"reason":"inflight"}}"#;
        prop_assert_eq!(signal(&body[..at]), signal(b""));
        prop_assert_ne!(signal(body), signal(b""));
    }
}
