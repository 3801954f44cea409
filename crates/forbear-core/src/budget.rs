//! How long, and how often, a logical request may be tried.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::time::Monotonic;

/// The budget of one logical request: a deadline, and optionally a number of attempts. Nesting only shortens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    deadline: Option<Monotonic>,
    attempts: Option<NonZeroU32>,
}

impl Budget {
    /// No limit at all.
    pub const UNLIMITED: Self = Self { deadline: None, attempts: None };

    /// How long somebody without a budget waits at most: for cool-downs in all, for its turn, for somebody else's attempt.
    pub const WAIT_WITHOUT: Duration = Duration::from_secs(60);

    /// A budget of these two limits, where there are any.
    #[must_use]
    #[inline]
    pub const fn new(deadline: Option<Monotonic>, attempts: Option<NonZeroU32>) -> Self {
        Self { deadline, attempts }
    }

    /// A budget that ends at `deadline`.
    #[must_use]
    #[inline]
    pub const fn until(deadline: Monotonic) -> Self {
        Self { deadline: Some(deadline), attempts: None }
    }

    /// The same with at most `most` attempts.
    #[must_use]
    pub const fn attempts(mut self, most: NonZeroU32) -> Self {
        self.attempts = Some(most);
        self
    }

    /// Both: the earlier deadline and the smaller number of attempts.
    #[must_use]
    #[inline]
    pub fn and(self, other: Self) -> Self {
        Self {
            deadline: earlier(self.deadline, other.deadline),
            attempts: earlier(self.attempts, other.attempts),
        }
    }

    /// When it ends.
    #[must_use]
    #[inline]
    pub const fn deadline(&self) -> Option<Monotonic> {
        self.deadline
    }

    /// How many attempts it allows.
    #[must_use]
    #[inline]
    pub const fn most_attempts(&self) -> Option<NonZeroU32> {
        self.attempts
    }

    /// What is left at `now`; `None` where there is no deadline.
    #[must_use]
    pub fn remaining(&self, now: Monotonic) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.since(now))
    }

    /// Whether a wait until `until` fits: it must end before the deadline.
    #[must_use]
    #[inline]
    pub fn fits(&self, until: Monotonic) -> bool {
        self.deadline.is_none_or(|deadline| until < deadline)
    }
}

#[inline]
fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Monotonic {
        Monotonic::ORIGIN.after(Duration::from_secs(seconds))
    }

    #[test]
    fn nesting_only_shortens() {
        let outer = Budget::until(at(30)).attempts(NonZeroU32::new(3).unwrap());
        assert_eq!(outer.and(Budget::until(at(60))), outer);
        assert_eq!(outer.and(Budget::until(at(10))).deadline(), Some(at(10)));
        assert_eq!(Budget::UNLIMITED.and(outer), outer);
        assert_eq!(outer.most_attempts(), NonZeroU32::new(3));
    }

    #[test]
    fn a_wait_that_ends_at_the_deadline_does_not_fit() {
        let budget = Budget::until(at(30));
        assert!(budget.fits(at(29)) && !budget.fits(at(30)));
        assert!(Budget::UNLIMITED.fits(Monotonic::NEVER));
        assert_eq!(budget.remaining(at(10)), Some(Duration::from_secs(20)));
        assert_eq!(budget.remaining(at(40)), Some(Duration::ZERO));
    }
}
