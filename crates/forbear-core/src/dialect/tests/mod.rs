mod body;
mod bucket;
mod events;
mod head;
mod hostile;
mod places;
mod readers;
mod refused;
mod strict;
mod wanted;
mod words;

use std::time::SystemTime;

use http::StatusCode;
use http::header::{HeaderMap, HeaderValue};

use super::{Dialect, Reading};

fn headers(retry_after: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static(retry_after))])
}

fn head(status: u16, retry_after: &'static str) -> Reading {
    let status = StatusCode::from_u16(status).unwrap();
    Dialect::standard().read_head(status, &headers(retry_after), SystemTime::UNIX_EPOCH)
}

fn whole(status: u16, retry_after: &'static str, body: &[u8]) -> Reading {
    let status = StatusCode::from_u16(status).unwrap();
    Dialect::standard().read_body(status, &headers(retry_after), body, SystemTime::UNIX_EPOCH)
}

#[test]
fn only_the_body_of_a_signal_is_wanted() {
    for (status, retry_after, wanted) in [
        (429, "1", true),
        (429, "soon", true),
        (503, "0", true),
        (503, "soon", false),
        (529, "1", false),
        (200, "1", false),
    ] {
        let reading = head(status, retry_after);
        assert_eq!(Dialect::standard().wants_body(&reading), wanted, "{status} {retry_after}");
        let read = whole(status, retry_after, br#"{"reason":"inflight_limit"}"#);
        assert_eq!(read.verdict != reading.verdict, wanted, "{status} {retry_after}");
        assert!(!Dialect::standard().wants_body(&read), "once is enough");
    }
}

#[test]
fn no_more_of_a_body_is_read_than_the_limit() {
    let body = |length: usize| format!("{:<length$}", r#"{"reason":"inflight_limit"}"#);
    let reason = |body: &str| whole(429, "1", body.as_bytes()).into_signal().unwrap().reason;
    assert_eq!(reason(&body(Dialect::MAX_BODY)).as_str(), "inflight_limit");
    // A document that goes on behind the limit is a truncated one.
    let beyond = format!(r#"{{"reason":"inflight_limit","pad":"{}"}}"#, "x".repeat(Dialect::MAX_BODY));
    assert_eq!(reason(&beyond).as_str(), "retry-after");
}

#[test]
fn a_503_with_a_zero_hint_is_a_signal() {
    let signal = head(503, "0").into_signal().unwrap();
    assert_eq!(signal.delay.map(|delay| delay.duration), Some(std::time::Duration::ZERO));
}
