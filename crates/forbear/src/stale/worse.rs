//! Which answers are worse than an old good one, and how long the vendor is left alone after one.

use std::time::Duration;

use forbear_core::stale::Because;
use http::StatusCode;
use http::response::Parts;

use crate::dialect::Dialect;
use crate::extensions::Shadowed;
use crate::{Signal, clock};

/// No vendor is left alone for longer because of one answer.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Why this answer is worse than an old good one.
pub(super) fn worse(head: &Parts) -> Option<Because> {
    if head.extensions.get::<Signal>().is_some()
        || matches!(head.status, StatusCode::TOO_MANY_REQUESTS)
        || head.status.as_u16() == 529
    {
        return Some(Because::Limited);
    }
    // Those that RFC 5861 section 4 names.
    matches!(head.status.as_u16(), 500 | 502..=504).then_some(Because::ServerError)
}

/// How long after this answer nothing is asked again where `gap` is the least; `None` where a gate keeps to it.
pub(super) fn rests(head: &Parts, gap: Duration) -> Option<Duration> {
    if head.extensions.get::<Shadowed>().is_some() {
        return Some(gap);
    }
    let delay = match head.extensions.get::<Signal>() {
        Some(signal) if signal.retry_in().is_some() => return None,
        Some(signal) => signal.delay.map(|delay| delay.duration),
        // No gate looked at it.
        None => {
            let standard = Dialect::standard();
            let limits = standard.may_limit(head.status);
            let reading = limits.then(|| standard.read_head(head.status, &head.headers, clock::wall()));
            reading.and_then(|reading| reading.into_signal()?.delay).map(|delay| delay.duration)
        }
    };
    Some(gap.max(delay.unwrap_or_default().min(LONGEST)))
}
