//! How long an attempt that comes now will wait.

use crate::time::Monotonic;

use super::entry::Entry;
use super::state::State;

impl State {
    /// When an attempt that comes now goes at the earliest. Exact where all that wait are of one priority and caller and one
    /// window or the gap limits them; else it may be later. What is in flight is not considered.
    pub(super) fn expected(&self, entry: &Entry, now: Monotonic) -> Monotonic {
        let mut at = self.gap_bound(entry, now);
        let cost = self.queue.ahead(entry).cost.saturating_add(entry.cost.into());
        if entry.cost > 0 {
            for window in &self.windows {
                at = at.max(window.earliest(cost, self.held.cost, now));
            }
        }
        at
    }

    /// Whether what is [expected](Self::expected) for an attempt that comes now is before its deadline, whatever was sent so
    /// far: for most that settles it, and nobody looks through the windows.
    pub(super) fn surely_fits(&self, entry: &Entry, now: Monotonic) -> bool {
        let Some(deadline) = entry.deadline else { return true };
        let cost = self.queue.ahead(entry).cost.saturating_add(entry.cost.into());
        let latest = self.windows.iter().map(|window| window.latest(cost, now)).max();
        self.gap_bound(entry, now).max(latest.unwrap_or(now)) < deadline
    }

    /// When the gaps of those ahead have passed.
    fn gap_bound(&self, entry: &Entry, now: Monotonic) -> Monotonic {
        let ahead = u32::try_from(self.queue.ahead(entry).attempts).unwrap_or(u32::MAX);
        self.paced_from().max(now).after(self.gap.least.saturating_mul(ahead))
    }
}
