//! What the store does not know yet.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use forbear_core::gate::Gate;
use forbear_core::store::CooldownKey;

thread_local! {
    /// Whether this thread takes up what the store told: that is no news to it.
    static TAKES_UP: Cell<bool> = const { Cell::new(false) };
}

/// What is to be done.
#[derive(Debug)]
pub(super) struct Changes {
    /// The gates whose standing the store does not know; each once, so there are no more than gates.
    unknown: HashMap<CooldownKey, Arc<Gate>>,
    /// How many changes there were.
    pub(super) made: u64,
    /// The store is to be asked for all that it holds.
    pub(super) load: bool,
    /// Somebody waits for it to be written.
    pub(super) urgent: bool,
    /// Nothing is to wait for more any longer.
    pub(super) hurried: bool,
    /// The families are gone.
    pub(super) closed: bool,
    /// Nobody writes any more.
    ended: bool,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            unknown: HashMap::new(),
            made: 0,
            load: true,
            urgent: false,
            hurried: false,
            closed: false,
            ended: false,
        }
    }
}

impl Changes {
    /// A gate stands elsewhere. Whether that is news.
    pub(super) fn note(&mut self, gate: &Gate) -> bool {
        if self.ended || TAKES_UP.get() {
            return false;
        }
        let Some((key, gate)) = gate.key().zip(gate.held()) else { return false };
        self.made = self.made.wrapping_add(1);
        self.unknown.insert(key, gate);
        true
    }

    /// Takes what is to be written, and what `made` was then.
    pub(super) fn take(&mut self) -> (Vec<(CooldownKey, Arc<Gate>)>, u64) {
        self.urgent = false;
        (self.unknown.drain().collect(), self.made)
    }

    /// Gives back what could not be written.
    pub(super) fn put_back(&mut self, gates: impl IntoIterator<Item = (CooldownKey, Arc<Gate>)>) {
        for (key, gate) in gates {
            self.unknown.entry(key).or_insert(gate);
        }
    }

    /// Nobody writes any more: the gates, which know of this, are to be let go.
    pub(super) fn end(&mut self) -> HashMap<CooldownKey, Arc<Gate>> {
        self.ended = true;
        std::mem::take(&mut self.unknown)
    }

    pub(super) fn pending(&self) -> usize {
        self.unknown.len()
    }

    /// Whether there is anything to do now.
    pub(super) fn is_due(&self) -> bool {
        self.load || self.urgent || !self.unknown.is_empty()
    }

    /// Whether the task need not wait for a change.
    pub(super) fn has_work(&self) -> bool {
        self.is_due() || self.closed
    }

    /// Whether somebody waits for an attempt, however the last one went.
    pub(super) fn is_asked_for(&self) -> bool {
        self.urgent || self.closed
    }

    /// Whether what is to be done must not wait for more.
    pub(super) fn is_pressing(&self) -> bool {
        self.load || self.urgent || self.hurried || self.closed
    }
}

/// Runs what takes up something that the store told.
pub(super) fn taking_up<T>(take_up: impl FnOnce() -> T) -> T {
    TAKES_UP.set(true);
    let taken = take_up();
    TAKES_UP.set(false);
    taken
}
