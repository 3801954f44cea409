//! What a test may demand of the attempts.

use std::time::Duration;

use crate::timeline::{Mark, Timeline, shown};
use crate::{Attempt, Attempts};

impl Attempts {
    /// Asserts that there are exactly `n`.
    ///
    /// # Panics
    ///
    /// When there are more or fewer.
    #[track_caller]
    pub fn assert_count(&self, n: usize) {
        let found = self.len();
        assert!(found == n, "expected {n} attempts, there are {found}\n{}", self.timeline(&[]));
    }

    /// Asserts that each attempt came at least `gap` after the one before it.
    ///
    /// The vendor's clock runs between arrivals, so a client that waits `gap` from the answer on always passes.
    ///
    /// # Panics
    ///
    /// When two came closer together, or there are fewer than two, for then nothing was shown.
    #[track_caller]
    pub fn assert_gap_at_least(&self, gap: Duration) {
        self.assert_gaps(&format!("at least {gap:?}"), |found| found >= gap);
    }

    /// Asserts that each attempt came at most `gap` after the one before it: nothing waited longer than it had to.
    ///
    /// On a socket, leave room for a busy machine.
    ///
    /// # Panics
    ///
    /// When two came further apart, or there are fewer than two, for then nothing was shown.
    #[track_caller]
    pub fn assert_gap_at_most(&self, gap: Duration) {
        self.assert_gaps(&format!("at most {gap:?}"), |found| found <= gap);
    }

    /// Asserts that nothing arrived from `from` (inclusive) to `until` (exclusive), both counted from the vendor's
    /// first attempt, as [`Attempt::since`] is.
    ///
    /// # Panics
    ///
    /// When something arrived in between; when nothing ever arrived, for then there is no time to count from; when
    /// the span is empty.
    #[track_caller]
    pub fn assert_quiet_between(&self, from: Duration, until: Duration) {
        assert!(from < until, "the span from {from:?} to {until:?} is empty: nothing can arrive in it");
        assert!(
            !self.is_empty(),
            "expected silence from {from:?} to {until:?}, but no attempt arrived at all\n{}",
            self.timeline(&[])
        );
        let marks: Vec<_> = self
            .iter()
            .filter(|attempt| (from..until).contains(&attempt.since()))
            .map(|attempt| Mark { number: attempt.number(), note: "here".to_owned() })
            .collect();
        assert!(
            marks.is_empty(),
            "expected silence from {from:?} to {until:?}, but {} arrived\n{}",
            marks.len(),
            self.timeline(&marks)
        );
    }

    /// Asserts that no more than `n` came in any window of this length: each was at least `window` after the `n`th
    /// before it. For what the vendor admitted of them, ask [`accepted`](Self::accepted).
    ///
    /// # Panics
    ///
    /// When more did; when nothing ever arrived, for then nothing was shown; when `n` or the window is 0.
    #[track_caller]
    pub fn assert_rate_at_most(&self, n: usize, window: Duration) {
        assert!(n > 0, "a rate of 0 is silence: assert a count of 0");
        assert!(!window.is_zero(), "nothing comes within 0 seconds: give the rate a window");
        assert!(
            !self.is_empty(),
            "expected at most {n} in any {window:?}, but there are none\n{}",
            self.timeline(&[])
        );
        let marks: Vec<_> = self
            .windows(n.saturating_add(1))
            .filter_map(|span| mark([span.first()?, span.last()?], |found| found >= window))
            .collect();
        let first = || marks.first().map(|mark| format!("#{} came {}", mark.number, mark.note));
        assert!(
            marks.is_empty(),
            "expected at most {n} in any {window:?}, but {}\n{}",
            first().unwrap_or_default(),
            self.timeline(&marks)
        );
    }

    #[track_caller]
    fn assert_gaps(&self, expected: &str, holds: impl Fn(Duration) -> bool) {
        assert!(
            self.len() > 1,
            "expected {expected} between attempts, but there are fewer than two\n{}",
            self.timeline(&[])
        );
        let marks: Vec<_> =
            self.windows(2).filter_map(|pair| mark([pair.first()?, pair.last()?], &holds)).collect();
        let first = || marks.first().map(|mark| format!("#{} came {}", mark.number, mark.note));
        assert!(
            marks.is_empty(),
            "expected {expected} between attempts, but {}\n{}",
            first().unwrap_or_default(),
            self.timeline(&marks)
        );
    }

    fn timeline<'a>(&'a self, marks: &'a [Mark]) -> Timeline<'a> {
        Timeline { attempts: self, marks }
    }
}

/// The later of two attempts, where the gap between them does not hold.
fn mark([before, after]: [&Attempt; 2], holds: impl Fn(Duration) -> bool) -> Option<Mark> {
    let gap = after.at().duration_since(before.at());
    let note = format!("{:?} after #{}", shown(gap), before.number());
    (!holds(gap)).then(|| Mark { number: after.number(), note })
}
