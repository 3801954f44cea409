//! What a store knew of families, taken up by those that there are.

use std::sync::Arc;

use crate::gate::{Event, Gate, GateSettings, Merged};
use crate::host::is_normal;
use crate::signal::clean;
use crate::store::{CooldownEntry, Pause};
use crate::time::Monotonic;

use super::super::family::Unknown;
use super::Families;

/// A label is at most so long, whatever a store says.
const LABEL: usize = 80;

/// What became of something that a store knew.
#[derive(Debug)]
pub enum Restored {
    /// A gate stands by it now, or knew it, or knows better.
    Taken {
        /// Whose it is.
        gate: Arc<Gate>,
        /// What that changed.
        merged: Merged,
        /// Whether it is paused again.
        paused: bool,
        /// What an operator is to be told.
        events: Vec<Event>,
    },
    /// It says nothing any more.
    Over,
    /// No family has this name, or this host is in none.
    NoFamily,
}

impl Families {
    /// Takes up what a store knew of a family or of a part of one. A host that belongs to a registered family by now gives that
    /// its cool-down. Whoever waits meanwhile decides again.
    #[must_use]
    pub fn restore(&self, entry: &CooldownEntry, now: Monotonic) -> Restored {
        let Some((family, own)) = self.restored_to(entry, now) else { return Restored::NoFamily };
        if entry.says_nothing() && family.is_untouched() {
            return Restored::Over;
        }
        let gate = match &entry.key.part {
            None => family,
            Some(_) if entry.says_nothing() => return Restored::Over,
            Some(part) => family.partition_named(part.of, clean(&part.label, LABEL).trim_end(), now),
        };
        let (merged, events) = if own {
            gate.merge(&entry.transition, now)
        } else {
            // They counted their epochs apart.
            let other = Gate::new(Arc::clone(&entry.key.family), Arc::new(GateSettings::automatic()));
            let (merged, _) = other.merge(&entry.transition, now);
            gate.inherit(&other, now);
            (merged, Vec::new())
        };
        let paused = match &entry.pause {
            Pause::On { by, since } => gate.restore_pause(by.clone(), *since, now),
            Pause::AsBefore | Pause::Off => false,
        };
        Restored::Taken { gate, merged, paused, events }
    }

    /// The gate of the family that this is of now, and whether it is that which it was of.
    fn restored_to(&self, entry: &CooldownEntry, now: Monotonic) -> Option<(Arc<Gate>, bool)> {
        let name = &*entry.key.family;
        if !entry.key.automatic {
            return Some((Arc::clone(&self.named(name)?.gate), true));
        }
        if let Some(known) = self.0.automatic.existing(name) {
            return Some((Arc::clone(&known.gate), true));
        }
        if !is_normal(name) || name.is_empty() {
            return None;
        }
        let table = self.0.table();
        if let Some(owner) = table.owner(name) {
            // Its parts are hashed by other headers.
            return entry.key.part.is_none().then(|| (Arc::clone(&owner.gate), false));
        }
        let per_host = self.0.defined().unknown == Unknown::PerHost;
        (per_host && !entry.says_nothing())
            .then(|| (Arc::clone(&self.0.automatic.make(name, now).gate), true))
    }
}
