//! How many attempts are on their way, and how many may be.

use crate::time::Monotonic;

/// How many attempts are in flight, and may be. Where it is steered, a signal that too many are halves what may be, and each
/// round of good answers adds one: additive increase, multiplicative decrease.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    configured: Option<u32>,
    /// Whether there is a limit, or the vendor may set one: only then they are counted.
    counted: bool,
    /// Those that are counted: none while there is no limit and can be none.
    pub(super) count: u32,
    steered: Option<Steered>,
}

#[derive(Debug, Clone, Copy)]
struct Steered {
    limit: u32,
    /// Good answers since the limit last changed.
    good: u32,
    /// Where no limit is configured, it is forgotten from here on: twice what was in flight when it was cut.
    forgotten: u32,
    /// Signals of attempts that were sent before are of the round that was cut already.
    cut: Monotonic,
}

impl InFlight {
    pub(super) fn configure(&mut self, limit: Option<u32>, steered: bool) {
        self.configured = limit;
        self.counted = limit.is_some() || steered;
        if !steered {
            self.steered = None;
        }
    }

    /// Whether attempts are counted, so that their ends must be told.
    #[inline]
    pub(super) fn is_counted(&self) -> bool {
        self.counted
    }

    /// How many may be; `None` where there is no limit.
    #[inline]
    pub(super) fn limit(&self) -> Option<u32> {
        match self.steered {
            None => self.configured,
            Some(steered) => Some(steered.limit.min(self.configured.unwrap_or(u32::MAX))),
        }
    }

    /// Whether the vendor lowered it.
    pub(super) fn is_steered(&self) -> bool {
        self.steered.is_some()
    }

    /// How many more may be.
    #[inline]
    pub(super) fn left(&self) -> u32 {
        self.limit().map_or(u32::MAX, |limit| limit.saturating_sub(self.count))
    }

    /// Too many are in flight, says the answer to an attempt that was sent at `sent`. False where nothing can be lowered any
    /// more.
    pub(super) fn cut(&mut self, sent: Monotonic, now: Monotonic) -> bool {
        if self.steered.is_some_and(|steered| sent <= steered.cut) {
            return true;
        }
        if self.limit() == Some(1) {
            return false;
        }
        let count = self.limit().map_or(self.count, |limit| self.count.min(limit));
        let forgotten = self.steered.map_or(self.count.saturating_mul(2), |steered| steered.forgotten);
        let forgotten = self.configured.unwrap_or(forgotten.max(2));
        self.steered = Some(Steered { limit: (count / 2).max(1), good: 0, forgotten, cut: now });
        true
    }

    /// A good answer.
    pub(super) fn good(&mut self) -> bool {
        let Some(steered) = &mut self.steered else { return false };
        steered.good = steered.good.saturating_add(1);
        if steered.good < steered.limit {
            return false;
        }
        steered.good = 0;
        steered.limit = steered.limit.saturating_add(1);
        if steered.limit >= steered.forgotten {
            self.steered = None;
        }
        true
    }
}
