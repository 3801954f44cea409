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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Monotonic {
        Monotonic::from_nanos(nanos)
    }

    fn sent(times: impl IntoIterator<Item = u64>) -> Gap {
        let mut gap = Gap::default();
        gap.configure(Duration::from_nanos(10), false);
        times.into_iter().for_each(|nanos| gap.book(1, at(nanos)));
        gap
    }

    /// Each of the last two is given back by itself, in any order.
    #[test]
    fn what_is_given_back_keeps_no_gap() {
        for (given, ends) in
            [(vec![], 30), (vec![20], 20), (vec![10], 30), (vec![20, 10], 0), (vec![10, 20], 0)]
        {
            let mut gap = sent([10, 20]);
            given.iter().for_each(|nanos| gap.give_back(at(*nanos)));
            assert_eq!(gap.ends(None), at(ends), "{given:?}");
        }
    }

    #[test]
    fn what_is_not_known_any_more_takes_nothing_with_it() {
        let mut gap = sent([0, 10, 20]);
        gap.give_back(at(0));
        gap.give_back(at(20));
        assert_eq!(gap.ends(None), at(20));
    }
}
