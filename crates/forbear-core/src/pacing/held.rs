use std::time::Duration;

use crate::time::Monotonic;

/// One that is held back keeps the others at a distance for so long: its task may not be polled any more, or what it waits for
/// may never come.
const KEPT: Duration = Duration::from_secs(1);

/// What is held back for later: in no window yet, but certain to come.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// What they cost together.
    pub(super) cost: u64,
    /// Those that wait in another queue, which sees to it that they move.
    queued: u32,
    /// All others, and until when they keep the gap.
    others: u32,
    until: Monotonic,
}

impl Held {
    pub(super) fn add(&mut self, cost: u32, queued: bool, now: Monotonic) {
        self.cost = self.cost.saturating_add(cost.into());
        let count = self.count(queued);
        *count = count.saturating_add(1);
        if !queued {
            self.keep(now);
        }
    }

    pub(super) fn remove(&mut self, cost: u32, queued: bool) {
        self.cost = self.cost.saturating_sub(cost.into());
        let count = self.count(queued);
        *count = count.saturating_sub(1);
    }

    /// One that waited in another queue does so no longer.
    pub(super) fn requeue(&mut self, queued: bool) {
        if queued {
            self.queued = self.queued.saturating_sub(1);
            self.others = self.others.saturating_add(1);
        }
    }

    /// Keeps the gap, for one that may go `from` then on.
    pub(super) fn keep(&mut self, from: Monotonic) {
        self.until = self.until.max(from.after(KEPT));
    }

    /// Whether one of them keeps the gap.
    pub(super) fn keeps(&self, now: Monotonic) -> bool {
        self.queued > 0 || (self.others > 0 && now < self.until)
    }

    /// When they do not keep the gap any longer, as far as time decides.
    pub(super) fn ends(&self, now: Monotonic) -> Monotonic {
        if self.queued == 0 && self.others > 0 && now < self.until { self.until } else { Monotonic::NEVER }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued == 0 && self.others == 0
    }

    fn count(&mut self, queued: bool) -> &mut u32 {
        if queued { &mut self.queued } else { &mut self.others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_kept_for_a_second_and_by_those_in_another_queue_without_end() {
        let at = |millis| Monotonic::ORIGIN.after(Duration::from_millis(millis));
        let (mut held, never) = (Held::default(), Monotonic::NEVER);
        assert!(held.is_empty());
        held.add(1, false, at(0));
        let shown = |held: &Held, now| (held.is_empty(), held.keeps(now), held.ends(now));
        assert_eq!(shown(&held, at(999)), (false, true, at(1000)));
        assert_eq!(shown(&held, at(1000)), (false, false, never));
        held.add(1, true, at(0));
        assert_eq!(shown(&held, at(999)), (false, true, never));
        held.remove(1, false);
        assert_eq!(shown(&held, at(1000)), (false, true, never));
        held.remove(1, true);
        assert_eq!(shown(&held, at(999)), (true, false, never));
    }
}
