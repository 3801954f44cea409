use std::collections::HashMap;

use forbear_core::store::{CooldownEntry, CooldownKey, Pause};

/// Which families the store knows to be paused by this process. Who did not pause or resume one writes nothing of it: another
/// process on the same store may have.
#[derive(Debug, Default)]
pub(super) struct Pauses(HashMap<CooldownKey, bool>);

impl Pauses {
    /// Leaves out of an entry what the store was told before.
    pub(super) fn only_news(&self, entry: &mut CooldownEntry) {
        let known = self.0.get(&entry.key).copied().unwrap_or(false);
        if matches!((&entry.pause, known), (Pause::On { .. }, true) | (Pause::Off, false)) {
            entry.pause = Pause::AsBefore;
        }
    }

    /// The store knows this.
    pub(super) fn told(&mut self, entry: &CooldownEntry) {
        match entry.pause {
            Pause::On { .. } => drop(self.0.insert(entry.key.clone(), true)),
            Pause::Off => drop(self.0.remove(&entry.key)),
            Pause::AsBefore => {}
        }
    }

    /// The store lost what it knew.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
