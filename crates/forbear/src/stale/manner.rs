//! How an attempt lets itself be kept waiting: who may wait for the attempt of another.

use http::Extensions;

use crate::{NoQueue, NoWait, Priority};

/// What sets one attempt's waits apart from another's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Manner {
    /// It waits for no cool-down.
    pub(super) no_wait: bool,
    /// It waits for no turn.
    pub(super) no_queue: bool,
    /// Those that somebody waits for go before it.
    pub(super) background: bool,
    /// There is an old answer in hand, so a bad one is not told.
    pub(super) in_hand: bool,
}

impl Manner {
    /// Of a request; with something in hand nobody waits for a cool-down.
    pub(super) fn of(extensions: &Extensions, in_hand: bool, background: bool) -> Self {
        let priority = extensions.get::<Priority>().copied().unwrap_or_default();
        Self {
            no_wait: in_hand || extensions.get::<NoWait>().is_some(),
            no_queue: extensions.get::<NoQueue>().is_some(),
            background: background || priority == Priority::Background,
            in_hand,
        }
    }

    /// Whether what is refused to such an attempt for that would be refused to this one as well.
    pub(super) fn is_refused_like(self, other: Self) -> bool {
        (self.no_wait || !other.no_wait)
            && (self.no_queue || !other.no_queue)
            && (self.background || !other.background)
    }

    /// Whether this one would wait where the other does, and not be served before it.
    pub(super) fn waits_with(self, other: Self) -> bool {
        (other.no_wait || !self.no_wait)
            && (other.no_queue || !self.no_queue)
            && (self.background || !other.background)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_a_hurry_waits_with_nobody_who_is_not_and_is_refused_for_himself() {
        let patient = Manner::default();
        let hurries = [
            Manner { no_wait: true, ..patient },
            Manner { no_queue: true, ..patient },
            Manner { no_wait: true, in_hand: true, ..patient },
        ];
        for hurried in hurries {
            assert!(!hurried.waits_with(patient) && patient.waits_with(hurried));
            assert!(hurried.is_refused_like(patient) && !patient.is_refused_like(hurried));
        }
        assert!(!hurries[0].waits_with(hurries[1]) && !hurries[0].is_refused_like(hurries[1]));
        // What nobody waits for is no measure for what somebody does.
        let background = Manner { background: true, ..patient };
        assert!(background.waits_with(patient) && !patient.waits_with(background));
        assert!(background.is_refused_like(patient) && !patient.is_refused_like(background));
    }
}
