//! What a gate did since it was made.

use crate::pacing::PacingTotals;
use crate::signal::Class;
use crate::stale::StaleTotals;

use super::decision::RefusalCause;

/// What a gate did, or all gates of one family. They only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Attempts admitted.
    pub attempts: u64,
    /// Recoveries begun.
    pub recoveries: u64,
    /// What its pacing did; `None` where it never had any.
    pub pacing: Option<PacingTotals>,
    /// What was served of its stored answers; `None` where nobody looked for any.
    pub stale: Option<StaleTotals>,
    signals: [u64; Class::ALL.len()],
    strikes: [u64; Class::ALL.len()],
    refusals: [u64; RefusalCause::ALL.len()],
}

impl Totals {
    /// Signals observed of this class.
    #[must_use]
    pub fn signals(&self, class: Class) -> u64 {
        at(&self.signals, class as usize)
    }

    /// Strikes of this class: signals that closed the gate.
    #[must_use]
    pub fn strikes(&self, class: Class) -> u64 {
        at(&self.strikes, class as usize)
    }

    /// Refusals given for this cause.
    #[must_use]
    pub fn refusals(&self, cause: RefusalCause) -> u64 {
        at(&self.refusals, cause as usize)
    }

    /// Signals, strikes and refusals of every kind.
    pub(super) fn sums(&self) -> (u64, u64, u64) {
        (sum(&self.signals), sum(&self.strikes), sum(&self.refusals))
    }

    pub(super) fn signal(&mut self, class: Class) {
        count(&mut self.signals, class as usize);
    }

    pub(super) fn strike(&mut self, class: Class) {
        count(&mut self.strikes, class as usize);
    }

    pub(super) fn refusal(&mut self, cause: RefusalCause) {
        count(&mut self.refusals, cause as usize);
    }

    /// These and the others together.
    #[must_use]
    pub(super) fn and(self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// The larger of each.
    #[must_use]
    pub(super) fn or(self, other: &Self) -> Self {
        self.with(other, u64::max)
    }

    fn with(mut self, other: &Self, merge: impl Fn(u64, u64) -> u64) -> Self {
        let each = |mine: &mut [u64], others: &[u64]| {
            for (mine, other) in mine.iter_mut().zip(others) {
                *mine = merge(*mine, *other);
            }
        };
        each(&mut self.signals, &other.signals);
        each(&mut self.strikes, &other.strikes);
        each(&mut self.refusals, &other.refusals);
        self.attempts = merge(self.attempts, other.attempts);
        self.recoveries = merge(self.recoveries, other.recoveries);
        self.pacing = match (self.pacing, other.pacing) {
            (Some(mine), Some(other)) => Some(mine.with(&other, merge)),
            (mine, other) => mine.or(other),
        };
        self
    }
}

fn at(counts: &[u64], place: usize) -> u64 {
    counts.get(place).copied().unwrap_or_default()
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

fn count(counts: &mut [u64], place: usize) {
    if let Some(count) = counts.get_mut(place) {
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_place_of_its_own() {
        let mut totals = Totals::default();
        for (class, times) in Class::ALL.into_iter().zip(1..) {
            (0..times).for_each(|_| totals.signal(class));
            (0..2 * times).for_each(|_| totals.strike(class));
        }
        for (cause, times) in RefusalCause::ALL.into_iter().zip(1..) {
            (0..times).for_each(|_| totals.refusal(cause));
        }
        assert_eq!(Class::ALL.map(|class| totals.signals(class)), [1, 2, 3, 4]);
        assert_eq!(Class::ALL.map(|class| totals.strikes(class)), [2, 4, 6, 8]);
        assert_eq!(RefusalCause::ALL.map(|cause| totals.refusals(cause)), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(totals.sums(), (10, 20, 28));
        assert_eq!(totals.and(&totals).sums(), (20, 40, 56));
        assert_eq!(totals.or(&Totals::default()), totals);
        let pacing = |waited| Some(PacingTotals { waited, ..PacingTotals::default() });
        let paced = Totals { pacing: pacing(2), ..totals };
        assert_eq!((paced.and(&totals).pacing, totals.and(&paced).pacing), (pacing(2), pacing(2)));
        assert_eq!((paced.and(&paced).pacing, paced.or(&paced).pacing), (pacing(4), pacing(2)));
    }
}
