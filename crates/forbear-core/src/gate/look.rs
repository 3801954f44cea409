use std::time::Duration;

use crate::time::Monotonic;

use super::ask::Ask;
use super::decision::{Refusal, RefusalCause};
use super::engine::Gate;
use super::state::Phase;

impl Gate {
    /// Whether it would refuse `ask` now, for who is not about to send yet: [`Gate::admit`] decides. `None` where it is open
    /// (one atomic load), where it recovers, and where a probe is due: then it is to be asked in earnest. A refusal counts as
    /// any other.
    #[must_use]
    pub fn look(&self, ask: &Ask, now: Monotonic) -> Option<Refusal> {
        if self.is_open() {
            return None;
        }
        self.with(|state| {
            state.advance(now);
            if state.pause.is_on() {
                return Some(state.refuse(RefusalCause::Paused, None, now));
            }
            if ask.grant.is_some_and(|grant| state.holds(grant)) || state.probe_is_due(now) {
                return None;
            }
            let cause = match state.phase {
                Phase::Open | Phase::Recovering(_) => return None,
                Phase::Cooling => RefusalCause::Cooling,
                Phase::Probing => RefusalCause::Probing,
            };
            state.asked = now;
            let retry_at = state.retry_at();
            Some(state.refuse(cause, retry_at, now))
        })
        .0
    }

    /// How long an answer takes on average.
    #[must_use]
    pub fn answers_in(&self) -> Duration {
        let mut state = self.lock();
        self.take_times(&mut state);
        Duration::try_from_secs_f64(state.time.mean()).unwrap_or(Duration::MAX)
    }

    /// What must be left of a budget for an answer to be likely. Who has waited until less is left is not sent.
    #[must_use]
    pub fn needed(&self) -> Duration {
        let mut state = self.lock();
        self.take_times(&mut state);
        state.time.needed()
    }
}
