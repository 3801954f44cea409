//! The truth table of signals, each vendor by its own dialect.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::time::{Duration, SystemTime};

use forbear_core::dialect::{Dialect, Reading};
use forbear_core::presets::NAMES;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

#[test]
fn every_entry_is_read_as_the_table_says() {
    let entries = entries();
    assert!(entries.len() > 175, "{}", entries.len());
    let wrong: Vec<String> = entries
        .iter()
        .filter_map(|entry| {
            let (found, expected) = (essence(&read(entry)), &entry["expect"]);
            (found != *expected).then(|| {
                format!("{} {}\n  found    {found}\n  expected {expected}", entry["vendor"], entry["id"])
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whatever a vendor sends, every dialect has a reading of it.
#[test]
fn every_dialect_has_a_reading_of_every_entry() {
    for entry in &entries() {
        for vendor in NAMES {
            let reading = read_by(&Dialect::named(vendor).unwrap(), entry);
            assert!(reading.signal().is_none() || reading.information.is_none(), "{vendor} {}", entry["id"]);
        }
    }
}

/// A body that is not wanted would have changed nothing, and one in no known form leaves what the head said. A stream of
/// events that is not looked into is another matter: nothing of it is.
#[test]
fn what_the_head_says_stands_without_a_body_that_says_more() {
    let mut wrong = Vec::new();
    for entry in &entries() {
        let (status, headers, wall) = head(entry);
        for vendor in NAMES {
            let dialect = Dialect::named(vendor).unwrap();
            let head = dialect.read_head(status, &headers, wall);
            let whole = |body: &[u8]| dialect.read_body(status, &headers, body, wall);
            if !dialect.wants_body(&head)
                && whole(entry["body"].as_str().unwrap().as_bytes()).verdict != head.verdict
            {
                wrong.push(format!("{vendor} does not look at {}", entry["id"]));
            }
            // None of them is JSON, XML or a page, nor text that any of them knows.
            for nothing in [&b"\x01\xff\x02"[..], b"<", b"{\"reason\":", b"\xff\xfe{\0"] {
                if whole(nothing).verdict != head.verdict {
                    wrong.push(format!(
                        "{vendor} {} {nothing:?}\n {:?}\n {:?}",
                        entry["id"],
                        whole(nothing).verdict,
                        head.verdict
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn entries() -> Vec<Value> {
    [include_str!("vectors/signals.json"), include_str!("vectors/more.json")]
        .iter()
        .flat_map(|table| serde_json::from_str::<Vec<Value>>(table).unwrap())
        .collect()
}

#[test]
fn no_two_entries_have_one_name() {
    let mut names: Vec<String> = entries().iter().map(|entry| entry["id"].to_string()).collect();
    names.sort_unstable();
    assert_eq!(names.windows(2).find(|pair| pair[0] == pair[1]), None);
}

fn read(entry: &Value) -> Reading {
    read_by(&Dialect::named(entry["vendor"].as_str().unwrap()).unwrap(), entry)
}

fn read_by(dialect: &Dialect, entry: &Value) -> Reading {
    let (status, headers, wall) = head(entry);
    let reading = dialect.read_head(status, &headers, wall);
    if !dialect.wants_body(&reading) {
        return reading;
    }
    dialect.read_body(status, &headers, entry["body"].as_str().unwrap().as_bytes(), wall)
}

fn head(entry: &Value) -> (StatusCode, HeaderMap, SystemTime) {
    let status = StatusCode::try_from(u16::try_from(entry["status"].as_u64().unwrap()).unwrap()).unwrap();
    (status, headers(entry), instant(entry["now"].as_str().unwrap()))
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
    let delay = signal.map_or(reading.information, |signal| signal.delay);
    let reason = signal.map(|signal| &signal.reason).or(reading.reason.as_ref());
    json!({
        "rate_limited": signal.is_some(),
        "delay_ms": delay.map(|delay| u64::try_from(delay.duration.as_millis()).unwrap()),
        "scope": signal.map_or(reading.limit.as_deref(), |signal| signal.limit.as_deref()),
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
