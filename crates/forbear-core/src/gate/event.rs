use std::sync::Arc;
use std::time::Duration;

use crate::signal::Scope;

use super::decision::Struck;

/// Something an operator is told: forbear logs one WARN per strike and one INFO per recovery.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A signal closed the gate.
    Strike {
        /// The signal, and the route that met it.
        struck: Arc<Struck>,
        /// The cool-down, from the signal to its deadline.
        cooldown: Duration,
        /// The level after the strike.
        level: u8,
        /// Whether nothing was accepted since the last strike.
        blind: bool,
    },
    /// A probe was accepted: the family is called again, at a learned pace.
    Recovery {
        /// How long the family was not called, from the last strike.
        closed: Duration,
        /// The level it keeps until quiet time lowers it.
        level: u8,
        /// Attempts per second that recovery begins with.
        pace: f64,
    },
}

/// How an attempt ended, as far as its family is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Accepted: an unclassified 2xx, 3xx, 404, 409 or 422.
    Good,
    /// A signal, and the path of the request that met it, without query.
    Bad(&'a crate::signal::Signal, &'a str),
    /// No news: another status, a transport error, a timeout, cancellation, a panic.
    Neutral,
    /// Dropped before anything was sent.
    NotSent,
}

impl Outcome<'_> {
    /// What it tells of the family: a signal out of a cache, or one that speaks for its own request alone, is no news.
    pub(super) fn of_the_family(self) -> Self {
        match self {
            Self::Bad(signal, _) if signal.aged || signal.scope == Scope::Request => Self::Neutral,
            other => other,
        }
    }
}

/// What an observed answer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing: an open gate stays open, or the answer belongs to an older generation or epoch.
    None,
    /// It closed the gate.
    Struck,
    /// It made a running cool-down longer.
    Extended,
    /// It began the recovery.
    Recovered,
    /// It ended the probe's lease without news.
    ProbeEnded,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use http::StatusCode;

    use super::*;
    use crate::gate::{Ask, Decision, Gate, GateSettings, Ticket};
    use crate::signal::{Class, Scope, Signal};
    use crate::time::Monotonic;

    fn go(gate: &Gate, now: Monotonic) -> Ticket {
        match gate.admit(&Ask::new(now), now).0 {
            Decision::Go(ticket) => ticket,
            Decision::Refuse(refusal) => panic!("{refusal:?}"),
        }
    }

    #[test]
    fn a_signal_that_is_no_news_ends_the_probe_without_a_verdict() {
        let limited =
            Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(5));
        let mut aged = limited.clone();
        aged.aged = true;
        for signal in [aged, limited.clone().scope(Scope::Request)] {
            let gate = Gate::new("vendor", Arc::new(GateSettings::registered()));
            let struck = Monotonic::from_nanos(1);
            let _ = gate.observe(&go(&gate, struck), Outcome::Bad(&limited, "/"), struck);
            let probed = struck.after(Duration::from_secs(5));
            let probe = go(&gate, probed);
            assert!(probe.is_probe());
            let observed = gate.observe(&probe, Outcome::Bad(&signal, "/"), probed);
            assert_eq!(observed.effect, Effect::ProbeEnded);
            assert_eq!(observed.retry_at, Some(probed.after(Duration::from_secs(1))));
            let refused = gate.admit(&Ask::new(probed), probed.after(Duration::from_millis(500))).0;
            assert!(matches!(refused, Decision::Refuse(_)), "{refused:?}");
        }
    }
}
