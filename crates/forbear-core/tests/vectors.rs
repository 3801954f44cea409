//! The truth table of signals, for the vendors that the standard dialect speaks for.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::time::{Duration, SystemTime};

use forbear_core::dialect::{Dialect, Reading, Verdict};
use forbear_core::signal::Scope;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

#[test]
fn every_generic_entry_is_read_as_the_table_says() {
    let entries = entries_of("generic-http");
    assert_eq!(entries.len(), 46);
    for entry in &entries {
        let mut expected = entry["expect"].clone();
        let found = essence(&read(entry));
        assert_eq!(
            expected["scope"].take(),
            Value::Null,
            "{}: a scope the standard dialect cannot know",
            entry["id"]
        );
        assert_eq!(found, expected, "{}: {}", entry["id"], entry["note"]);
    }
}

#[test]
fn the_reasons_of_durable_objects_are_read_from_the_body() {
    let entries = entries_of("cloudflare-do-backpressure");
    assert_eq!(entries.len(), 5);
    for entry in &entries {
        let mut expected = entry["expect"].clone();
        expected["scope"].take();
        assert_eq!(essence(&read(entry)), expected, "{}: {}", entry["id"], entry["note"]);
    }
}

/// The rest of the table is for other dialects, but no entry may stop this one.
#[test]
fn every_entry_has_a_reading() {
    let entries = entries();
    assert_eq!(entries.len(), 175);
    for entry in &entries {
        let reading = read(entry);
        assert!(
            !matches!(reading.verdict, Verdict::Bad(_)) || reading.information.is_none(),
            "{}",
            entry["id"]
        );
    }
}

fn entries() -> Vec<Value> {
    let table: Value = serde_json::from_str(include_str!("vectors/signals.json")).unwrap();
    table.as_array().unwrap().clone()
}

fn entries_of(vendor: &str) -> Vec<Value> {
    entries().into_iter().filter(|entry| entry["vendor"] == vendor).collect()
}

fn read(entry: &Value) -> Reading {
    let status = StatusCode::try_from(u16::try_from(entry["status"].as_u64().unwrap()).unwrap()).unwrap();
    let dialect = Dialect::standard();
    let mut reading = dialect.read_head(status, &headers(entry), instant(entry["now"].as_str().unwrap()));
    if dialect.wants_body(&reading) {
        dialect.read_body(&mut reading, entry["body"].as_str().unwrap().as_bytes());
    }
    reading
}

/// Strings are UTF-8 bytes, lists are repeated lines, and `headers_hex` overrides `headers`.
fn headers(entry: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in entry["headers"].as_object().unwrap() {
        let lines = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for line in lines {
            let line = HeaderValue::from_bytes(line.as_str().unwrap().as_bytes()).unwrap();
            headers.append(HeaderName::try_from(name).unwrap(), line);
        }
    }
    for (name, hex) in entry["headers_hex"].as_object().into_iter().flatten() {
        let hex = hex.as_str().unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        headers.insert(HeaderName::try_from(name).unwrap(), HeaderValue::from_bytes(&bytes).unwrap());
    }
    headers
}

/// A reading in the table's words.
fn essence(reading: &Reading) -> Value {
    let signal = reading.signal();
    if let Some(signal) = signal {
        assert_eq!(signal.scope, Scope::Unstated);
    }
    let delay = signal.map_or(reading.information, |signal| signal.delay);
    let reason = signal.map(|signal| &signal.reason).or(reading.reason.as_ref());
    json!({
        "rate_limited": signal.is_some(),
        "delay_ms": delay.map(|delay| u64::try_from(delay.duration.as_millis()).unwrap()),
        "scope": null,
        "reason": reason,
        "retryable": signal.map(|signal| signal.retryable),
        "class": signal.map(|signal| signal.class),
    })
}

/// `2026-11-30T00:00:00Z`.
fn instant(text: &str) -> SystemTime {
    let field = |at: std::ops::Range<usize>| text[at].parse::<u64>().unwrap();
    assert_eq!((text.len(), &text[19..]), (20, "Z"));
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let year = field(0..4);
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: u64 = months[..usize::try_from(field(5..7)).unwrap() - 1].iter().sum();
    let days =
        (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum::<u64>() + before + field(8..10) - 1;
    let seconds = ((days * 24 + field(11..13)) * 60 + field(14..16)) * 60 + field(17..19);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
