use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use forbear_core::gate::Gate;
use forbear_core::store::CooldownEntry;
use forbear_core::store::CooldownKey;
use forbear_core::time::Monotonic;
use forbear_core::work::Stamp;

/// A deadline that is later by less is the same one.
const SLACK: Duration = Duration::from_millis(50);

/// When cool-downs end by the wall clock, as far as the store knows it from here. A wall clock that is set back makes more of that
/// than is left, and this process knows better.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<CooldownKey, Ends>);

/// One that the store knows of.
#[derive(Debug)]
struct Ends {
    gate: Weak<Gate>,
    /// Within an epoch a deadline is only ever moved away.
    epoch: u32,
    until: Stamp,
}

impl Known {
    /// The store was told this, or told it.
    pub(super) fn add(&mut self, gate: &Arc<Gate>, entry: &CooldownEntry, now: Stamp) {
        let (epoch, until) = (entry.transition.epoch, now.after(entry.transition.remaining));
        let known = self.0.get_mut(&entry.key).filter(|known| known.epoch >= epoch);
        match known {
            Some(known) if known.epoch == epoch => known.until = known.until.max(until),
            Some(_) => {}
            None if entry.transition.remaining.is_zero() => {}
            None => {
                let ends = Ends { gate: Arc::downgrade(gate), epoch, until };
                drop(self.0.insert(entry.key.clone(), ends));
            }
        }
    }

    /// Whether the store knows this from here, and no other process told it.
    pub(super) fn has(&self, entry: &CooldownEntry, now: Stamp) -> bool {
        self.of(entry, now).is_some()
    }

    /// What the store says, and no more of a deadline that it has from here than the gate's own clock says.
    pub(super) fn cut(&self, mut entry: CooldownEntry, (now, stamp): (Monotonic, Stamp)) -> CooldownEntry {
        if let Some(gate) = self.of(&entry, stamp) {
            let (stands, told) = (gate.transition(now), &mut entry.transition);
            if (told.epoch, told.generation) <= (stands.epoch, stands.generation) {
                told.remaining = told.remaining.min(stands.remaining);
            }
        }
        entry
    }

    /// Forgets what is over.
    pub(super) fn tidy(&mut self, now: Stamp) {
        self.0.retain(|_, known| known.until > now);
    }

    /// The store lost what it knew.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    fn of(&self, entry: &CooldownEntry, now: Stamp) -> Option<Arc<Gate>> {
        let Ends { gate, epoch, until } = self.0.get(&entry.key)?;
        let told = &entry.transition;
        let from_here = told.epoch == *epoch && now.after(told.remaining) <= until.after(SLACK);
        gate.upgrade().filter(|_| from_here)
    }
}
