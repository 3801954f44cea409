//! What holds of every reading.

use std::time::{Duration, SystemTime};

use forbear_core::dialect::{Dialect, Reading, Verdict};
use forbear_core::signal::{Class, Delay, Evidence, Reason, Scope, Signal};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};

/// The longest name of what is limited, in bytes.
const LONGEST_NAME: usize = 128;
/// The longest delay that counts from now.
const LONGEST: Duration = Duration::from_secs(1 << 31);
/// The longest until a point in time, which is counted in signed milliseconds.
const LONGEST_UNTIL: Duration = Duration::from_millis(i64::MAX as u64);

/// The caller's wall clock: 30 November 2026.
#[must_use]
pub fn wall() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_996_800)
}

/// What a reading means, without what it was read from.
#[derive(Debug, PartialEq)]
pub struct Essence {
    verdict: Option<Sense>,
    good: bool,
    information: Option<Delay>,
    reason: Option<Reason>,
    limit: Option<Box<str>>,
}

#[derive(Debug, PartialEq)]
struct Sense {
    class: Class,
    delay: Option<Delay>,
    scope: Scope,
    limit: Option<Box<str>>,
    reason: Reason,
    /// Whether it may be sent again, whether it was carried out, and whether it came out of a cache.
    again: (bool, bool, bool),
}

/// What `reading` means.
#[must_use]
pub fn essence(reading: &Reading) -> Essence {
    let sense = |signal: &Signal| Sense {
        class: signal.class,
        delay: signal.delay,
        scope: signal.scope,
        limit: signal.limit.clone(),
        reason: signal.reason.clone(),
        again: (signal.retryable, signal.not_executed, signal.aged),
    };
    Essence {
        verdict: reading.signal().map(sense),
        good: reading.verdict == Verdict::Good,
        information: reading.information,
        reason: reading.reason.clone(),
        limit: reading.limit.clone(),
    }
}

/// Reads an answer as the layers do, and checks all that they rely on: the reading of all of it is returned.
pub fn answer(dialect: &Dialect, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Reading {
    let head = dialect.read_head(status, headers, wall());
    reading(dialect, status, &head);
    let whole = dialect.read_body(status, headers, body, wall());
    reading(dialect, status, &whole);
    assert!(!dialect.wants_body(&whole), "once is enough");
    if let Some(beginning) = body.get(..Dialect::MAX_BODY) {
        let beginning = dialect.read_body(status, headers, beginning, wall());
        assert_eq!(beginning, whole, "more is looked at than may be");
    }
    let none = dialect.read_body(status, headers, b"", wall());
    assert_eq!(essence(&none), essence(&head), "a body that is not there says something");
    if !dialect.wants_body(&head) {
        assert_eq!(essence(&whole), essence(&head), "a body that nobody asked for says something");
    }
    if let Some(bucket) = dialect.bucket(headers, wall()) {
        words(&bucket, 1, LONGEST_NAME);
    }
    whole
}

/// Checks that a JSON document of which the end is missing says no more than none.
pub fn cut(dialect: &Dialect, status: StatusCode, headers: &HeaderMap, body: &[u8], at: usize) {
    let kind = headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_ascii_lowercase()).unwrap_or_default();
    let container = body.trim_ascii().first().is_some_and(|byte| b"{[".contains(byte));
    if kind.starts_with(b"text/event-stream")
        || !container
        || serde_json::from_slice::<serde_json::Value>(body).is_err()
    {
        return;
    }
    let body = body.trim_ascii();
    let beginning = dialect.read_body(status, headers, &body[..at % body.len()], wall());
    reading(dialect, status, &beginning);
    let none = dialect.read_body(status, headers, b"", wall());
    assert_eq!(essence(&beginning), essence(&none), "a document that is cut off says something");
}

/// Checks one reading.
pub fn reading(dialect: &Dialect, status: StatusCode, reading: &Reading) {
    if let Some(signal) = reading.signal() {
        assert!(dialect.may_limit(status), "a status that settles it does not");
        assert_eq!(signal.status, Some(status));
        assert_eq!(reading.evidence.first(), Some(&signal.evidence));
        assert!(reading.information.is_none() && reading.reason.is_none() && reading.limit.is_none());
        words(signal.reason.as_str(), 1, Reason::MAX);
    }
    let signal = reading.signal();
    let delays = signal.and_then(|signal| signal.delay).into_iter().chain(reading.information);
    for delay in delays.chain(reading.quotas.iter().filter_map(|quota| quota.reset)) {
        let longest = if delay.absolute { LONGEST_UNTIL } else { LONGEST };
        assert!(delay.duration <= longest, "{delay:?} is too long");
        assert_eq!(delay.duration.subsec_nanos() % 1_000_000, 0, "{delay:?} is not rounded up");
    }
    if let Some(reason) = &reading.reason {
        words(reason.as_str(), 1, Reason::MAX);
    }
    let limits = signal.and_then(|signal| signal.limit.as_ref()).into_iter().chain(&reading.limit);
    for name in limits.chain(reading.quotas.iter().filter_map(|quota| quota.name.as_ref())) {
        words(name, 1, LONGEST_NAME);
    }
    for Evidence { value, .. } in &reading.evidence {
        words(value, 0, Reason::MAX);
    }
}

fn words(words: &str, least: usize, most: usize) {
    assert!((least..=most).contains(&words.len()), "{words:?} has {} bytes", words.len());
    assert!(!words.contains(char::is_control), "{words:?} has control characters");
}
