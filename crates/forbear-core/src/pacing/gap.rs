use std::time::Duration;

use crate::time::Monotonic;

use super::steering::Spread;

/// The least time between two attempts.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// With the margin.
    pub(super) least: Duration,
    /// The same, in nanoseconds.
    nanos: u64,
    /// Whether the last attempt is of interest.
    pub(super) kept: bool,
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
    /// `steered` where the vendor may ask for more.
    pub(super) fn configure(&mut self, least: Duration, steered: bool) {
        self.kept = steered || !least.is_zero();
        self.least = least;
        self.nanos = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX);
    }

    /// When the gap after an attempt at `now` ends.
    #[inline]
    pub(super) fn after(&self, now: Monotonic) -> Monotonic {
        Monotonic::from_nanos(now.as_nanos().saturating_add(self.nanos))
    }

    /// When the next attempt may go.
    pub(super) fn ends(&self, spread: Option<&Spread>) -> Monotonic {
        let Some(last) = self.last else { return Monotonic::ORIGIN };
        match spread {
            None => self.after(last.at),
            Some(spread) => {
                let own = self.after(last.at);
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
