use std::time::Duration;

use crate::time::Monotonic;

use super::steering::Spread;

/// The least time between two attempts.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// With the margin.
    pub(super) least: Duration,
    /// The last attempt, and the one before it: for when the last turns out not to have been sent.
    last: Option<Sent>,
    before: Option<Sent>,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Monotonic,
    cost: u32,
}

impl Gap {
    /// When the next attempt may go.
    #[inline]
    pub(super) fn ends(&self, spread: Option<&Spread>) -> Monotonic {
        let Some(last) = self.last else { return Monotonic::ORIGIN };
        match spread {
            None => last.at.after(self.least),
            Some(spread) => {
                let own = last.at.after(self.least);
                own.max(last.at.after(spread.after(last.cost)).min(spread.until))
            }
        }
    }

    #[inline]
    pub(super) fn book(&mut self, cost: u32, now: Monotonic) {
        self.before = self.last;
        self.last = Some(Sent { at: now, cost });
    }

    /// What went at `sent` was not sent after all.
    pub(super) fn give_back(&mut self, sent: Monotonic) {
        if self.last.is_some_and(|last| last.at == sent) {
            self.last = self.before.take();
        } else if self.before.is_some_and(|before| before.at == sent) {
            self.before = None;
        }
    }
}
