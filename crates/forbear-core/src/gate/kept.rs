//! What of a gate is kept beyond its process, and who is told when that changes.

use std::sync::Arc;
use std::time::Duration;

use crate::partition::Partition;
use crate::store::{CooldownEntry, CooldownKey, Part, Pause};
use crate::time::Monotonic;

use super::engine::Gate;
use super::operator::{Act, Acted, Operator};
use super::state::{Phase, State};

/// What a gate is known by in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Not at all: it belongs to no family, or is shared by many.
    No,
    /// By the name of a registered family.
    Registered,
    /// By a host.
    Automatic,
    /// By a part of a family.
    Part(Partition, OfAutomatic),
}

/// Whether the family was made for a host.
type OfAutomatic = bool;

impl Kept {
    /// A part of a family that is kept so.
    pub(super) fn part(self, part: Partition) -> Self {
        match self {
            Self::No | Self::Part(..) => Self::No,
            Self::Registered => Self::Part(part, false),
            Self::Automatic => Self::Part(part, true),
        }
    }
}

/// What of a gate's state a store holds, and time alone does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    age: (u32, u32),
    until: Monotonic,
    open: bool,
    paused: bool,
}

impl State {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            age: (self.epoch, self.generation),
            until: self.cooldown.until,
            open: matches!(self.phase, Phase::Open),
            paused: self.pause.is_on(),
        }
    }
}

impl Gate {
    /// What a store knows it by; `None` where it is not kept: the gate of what found no room for one of its own.
    #[must_use]
    pub fn key(&self) -> Option<CooldownKey> {
        let (automatic, part) = match self.kept {
            Kept::No => return None,
            Kept::Registered => (false, None),
            Kept::Automatic => (true, None),
            Kept::Part(part, automatic) => (automatic, Some(part)),
        };
        let part = part.map(|of| Part { of, label: self.label.clone().unwrap_or_default() });
        Some(CooldownKey { family: Arc::clone(self.name()), automatic, part })
    }

    /// What a store keeps of it. Of a pause too, where it is the family's.
    #[must_use]
    pub fn entry(&self, key: CooldownKey, now: Monotonic) -> CooldownEntry {
        let transition = self.transition(now);
        let pause = match self.lock().pause.shown() {
            _ if key.part.is_some() => Pause::AsBefore,
            Some(acted) => Pause::On { by: acted.by.clone(), since: now.since(acted.at) },
            None => Pause::Off,
        };
        CooldownEntry { key, transition, pause }
    }

    /// Whether a store need not know of it: nothing ever closed it, and no operator acted.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        let state = self.lock();
        (state.epoch, state.generation) == (0, 0) && !state.pause.is_on()
    }

    /// Is paused as it was in the process before. Not where an operator of this process paused or resumed it.
    pub fn restore_pause(&self, by: Operator, since: Duration, now: Monotonic) -> bool {
        // At the very origin nothing ever happened.
        let at = now.before(since).max(Monotonic::from_nanos(1));
        let pause = Arc::new(Acted { act: Act::Pause, by, at });
        let (paused, _) = self.with(|state| {
            let acted =
                state.acted.as_ref().is_some_and(|acted| matches!(acted.act, Act::Pause | Act::Resume));
            if state.pause.is_on() || acted {
                return false;
            }
            state.acted = Some(Arc::clone(&pause));
            state.pause.set(Some(pause));
            state.wake_all(now);
            true
        });
        if paused {
            self.tell_parts(now);
            self.empty_pacing();
        }
        paused
    }

    pub(super) fn is_watched(&self) -> bool {
        self.kept != Kept::No && self.listeners().is_some_and(|listeners| listeners.is_watched())
    }

    /// What a store holds of it is not true any more.
    #[cold]
    pub(super) fn tell_watchers(&self) {
        if let Some(listeners) = self.listeners() {
            listeners.tell_watchers(self);
        }
    }
}
