use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Closed, Gate};
use forbear_core::store::CooldownKey;
use forbear_core::time::Monotonic;

/// So long before the end of a cool-down the store is asked whether another process knows of a later one.
const BEFORE: Duration = Duration::from_millis(100);

/// The cool-downs that will end, by the time at which the store is to be asked.
#[derive(Debug, Default)]
pub(super) struct Soon(BTreeMap<(Monotonic, CooldownKey), Arc<Gate>>);

impl Soon {
    /// One that cools ends some time; one that does not is no matter.
    pub(super) fn add(&mut self, key: CooldownKey, gate: Arc<Gate>, now: Monotonic) {
        if let Closed::Cooling(until) = gate.closed(now) {
            let at = until.before(BEFORE);
            if at > now {
                self.0.insert((at, key), gate);
            }
        }
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Monotonic> {
        self.0.first_key_value().map(|((at, _), _)| *at)
    }

    /// Those that are due, and cool still.
    pub(super) fn take(&mut self, now: Monotonic) -> Vec<(CooldownKey, Arc<Gate>)> {
        let mut due = Vec::new();
        while let Some(first) = self.0.first_entry().filter(|first| first.key().0 <= now) {
            let ((at, key), gate) = first.remove_entry();
            // Where its deadline moved it is here once more, by that.
            if matches!(gate.closed(now), Closed::Cooling(until) if until.before(BEFORE) == at) {
                due.push((key, gate));
            }
        }
        due
    }
}
