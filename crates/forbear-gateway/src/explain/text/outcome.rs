//! What forbear does with a signal: its own engine is asked.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::budget::Budget;
use forbear_core::gate::{Ask, Decision, Gate, GateSettings, Outcome};
use forbear_core::retry::{After, History};
use forbear_core::signal::Signal;
use forbear_core::time::Monotonic;

/// What happens after the first such answer of a registered family that is otherwise well.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Consequence {
    /// How long the family, or a part of it, is closed; `None` where it stays open.
    pub(super) closed: Option<Duration>,
    /// After which time a request that may be sent again is, if its budget has room; `None` where it never is.
    pub(super) again: Option<Duration>,
}

impl Consequence {
    pub(super) fn of(signal: &Signal) -> Self {
        let now = Monotonic::ORIGIN;
        let gate = Gate::new("explain", Arc::new(GateSettings::registered()));
        // A new gate is open.
        let retry_at = match gate.admit(&Ask::new(now), now).0 {
            Decision::Go(ticket) => gate.observe(&ticket, Outcome::Bad(signal, "/"), now).retry_at,
            Decision::Refuse(_) => None,
        };
        let budget = Budget::until(Monotonic::NEVER);
        let again = match History::new().after(signal, true, &budget, retry_at, now) {
            After::Retry { until, .. } => Some(until.since(now)),
            After::Return(_) => None,
        };
        Self { closed: retry_at.map(|at| at.since(now)), again }
    }
}

#[cfg(test)]
mod tests {
    use forbear_core::signal::{Class, Scope};
    use http::StatusCode;

    use super::*;

    fn consequence(signal: &Signal) -> (Option<u64>, Option<u64>) {
        let Consequence { closed, again } = Consequence::of(signal);
        (closed.map(|closed| closed.as_millis() as u64), again.map(|again| again.as_millis() as u64))
    }

    #[test]
    fn the_engine_is_asked() {
        let throttled = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS);
        let minute = Duration::from_secs(60);
        assert_eq!(consequence(&throttled.clone().delay(minute)), (Some(60_000), Some(60_000)));
        assert_eq!(consequence(&throttled.clone().delay(Duration::ZERO)), (Some(250), Some(250)));
        assert_eq!(consequence(&throttled), (Some(120_000), Some(120_000)));
        let far = throttled.clone().delay(Duration::from_secs(30 * 24 * 60 * 60));
        assert_eq!(consequence(&far), (Some(24 * 60 * 60 * 1000), Some(30 * 24 * 60 * 60 * 1000)));
        let alone = throttled.clone().scope(Scope::Request).delay(minute);
        assert_eq!(consequence(&alone), (None, Some(60_000)));
        let exhausted = Signal::new(Class::Exhausted, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(consequence(&exhausted), (Some(60 * 60 * 1000), None));
    }
}
