//! A reading for programs.

use forbear_core::dialect::Reading;
use forbear_core::signal::{Class, Evidence, Reason};
use serde::Serialize;

use crate::shown;

/// What a response says, in one object. Where it is no signal, `class` and `retryable` are `null`, and the rest is
/// information.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    limited: bool,
    class: Option<Class>,
    delay_ms: Option<u64>,
    scope: Option<&'a str>,
    reason: Option<&'a Reason>,
    retryable: Option<bool>,
    evidence: &'a [Evidence],
}

/// One line, without its end.
pub(super) fn json(reading: &Reading) -> String {
    let signal = reading.signal();
    let delay = signal.map_or(reading.information, |signal| signal.delay);
    let answer = Answer {
        limited: signal.is_some(),
        class: signal.map(|signal| signal.class),
        delay_ms: delay.map(|delay| u64::try_from(delay.duration.as_millis()).unwrap_or(u64::MAX)),
        scope: signal.map_or(reading.limit.as_deref(), |signal| signal.limit.as_deref()),
        reason: signal.map(|signal| &signal.reason).or(reading.reason.as_ref()),
        retryable: signal.map(|signal| signal.retryable),
        evidence: &reading.evidence,
    };
    // Numbers, words and lists of them can always be written.
    shown::json(&serde_json::to_string(&answer).unwrap_or_default())
}
