//! What the vendor says is left, spread over the time for which it must last.

use std::time::Duration;

use crate::dialect::Quota;
use crate::time::Monotonic;

use super::recent::Recent;

/// What a vendor says is left of something, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// How much is left.
    pub remaining: u64,
    /// In how long there will be more.
    pub reset: Duration,
    /// What it is counted in.
    pub unit: Unit,
}

/// What a vendor counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Attempts, whatever they cost.
    Attempts,
    /// The [cost](super::Entry::cost) of attempts.
    Cost,
}

impl Left {
    /// What `quota` says is left; `None` where it does not say how much, or until when. Its own length stands in for a reset
    /// that is not told. What its vendor calls tokens is counted by cost, everything else by attempts.
    #[must_use]
    pub fn of(quota: &Quota) -> Option<Self> {
        let remaining = if quota.exhausted { 0 } else { quota.remaining? };
        let reset = quota.reset.map(|reset| reset.duration).or(quota.window)?;
        let tokens = quota.name.as_deref().is_some_and(|name| name.to_ascii_lowercase().contains("token"));
        let unit = if tokens { Unit::Cost } else { Unit::Attempts };
        Some(Self { remaining, reset, unit })
    }
}

/// How the vendor steers at the moment.
#[derive(Debug, Default)]
pub(super) struct Steering {
    /// Whether it may.
    pub(super) on: bool,
    pub(super) spread: Option<Spread>,
    pub(super) recent: Recent,
}

/// What is left, evenly spread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    /// After each attempt, whatever it costs.
    per_attempt: Duration,
    /// After each unit of cost.
    per_cost: Duration,
    /// When the attempt was sent whose answer told it.
    sent: Monotonic,
    /// Nothing goes before: nothing is left.
    pub(super) closed_until: Monotonic,
    /// Then there is more.
    pub(super) until: Monotonic,
}

impl Spread {
    /// The time after an attempt of this cost.
    pub(super) fn after(&self, cost: u32) -> Duration {
        self.per_attempt.max(self.per_cost.saturating_mul(cost))
    }
}

impl Steering {
    /// Takes what the answer to an attempt that was sent at `sent` says is left: attempts that went after it may not be counted
    /// in that yet. An answer to an attempt that was sent before the one whose word holds changes nothing.
    pub(super) fn observe(
        &mut self,
        left: &[Left],
        sent: Monotonic,
        longest: Duration,
        now: Monotonic,
    ) -> bool {
        if left.is_empty() || self.spread.is_some_and(|spread| spread.until > now && spread.sent > sent) {
            return false;
        }
        let (attempts, cost) = self.recent.after(sent);
        let (mut per_attempt, mut per_cost) = (Duration::ZERO, Duration::ZERO);
        let (mut closed_until, mut until) = (Monotonic::ORIGIN, now);
        for left in left {
            let reset = left.reset.min(longest);
            until = until.max(now.after(reset));
            let uncounted = if left.unit == Unit::Cost { cost } else { attempts };
            let free = left.remaining.saturating_sub(uncounted);
            match Duration::div_up(reset, free) {
                None => closed_until = closed_until.max(now.after(reset)),
                Some(each) if left.unit == Unit::Cost => per_cost = per_cost.max(each),
                Some(each) => per_attempt = per_attempt.max(each),
            }
        }
        self.spread = Some(Spread { per_attempt, per_cost, sent, closed_until, until });
        true
    }

    /// Forgets what no longer holds.
    #[inline]
    pub(super) fn advance(&mut self, now: Monotonic) {
        if self.spread.is_some_and(|spread| spread.until <= now) {
            self.spread = None;
        }
    }
}

trait DivUp: Sized {
    /// `self / by`, rounded up to the nanosecond; `None` for a division by zero.
    fn div_up(self, by: u64) -> Option<Self>;
}

impl DivUp for Duration {
    fn div_up(self, by: u64) -> Option<Self> {
        let by = u128::from(by);
        let nanos = self.as_nanos().checked_add(by.checked_sub(1)?)?.checked_div(by)?;
        Some(Self::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}
