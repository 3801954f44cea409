use std::collections::VecDeque;

use crate::time::Monotonic;

/// So many attempts are remembered.
const MOST: usize = 1024;

/// The last attempts, oldest first: which of them a vendor cannot have counted yet when it answered another.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<(Monotonic, u32)>);

impl Recent {
    /// Notes an attempt of this cost, which is never before one that was noted.
    pub(super) fn book(&mut self, cost: u32, now: Monotonic) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((now, cost));
    }

    /// What went at `sent` was not sent after all.
    pub(super) fn give_back(&mut self, sent: Monotonic) {
        let at = self.first_from(sent);
        if self.0.get(at).is_some_and(|(noted, _)| *noted == sent) {
            self.0.remove(at);
        }
    }

    /// How many attempts went after the one that was sent at `sent`, and what they cost. Those that went with it count: nobody
    /// knows which was first.
    pub(super) fn after(&self, sent: Monotonic) -> (u64, u64) {
        let from = self.first_from(sent);
        let own = usize::from(self.0.get(from).is_some_and(|(noted, _)| *noted == sent));
        let others = self.0.range(from.saturating_add(own)..);
        others.fold((0, 0), |(attempts, all), (_, cost)| {
            (attempts.saturating_add(1), all.saturating_add(u64::from(*cost)))
        })
    }

    fn first_from(&self, sent: Monotonic) -> usize {
        self.0.partition_point(|(noted, _)| *noted < sent)
    }
}
