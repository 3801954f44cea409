use std::cmp::Ordering;

/// What attempts that wait are ordered by: a number of arrival, or a start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tag(pub(super) u64);

impl Ord for Tag {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        tests::STEPS.with(|steps| steps.set(steps.get().saturating_add(1)));
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Tag {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::task::Waker;
    use std::time::Duration;

    use super::super::{Caller, Entered, Entry, Pacer, Pacing, Turn};
    use crate::time::Monotonic;

    thread_local! {
        /// Comparisons of tags: what the order of the queue costs.
        pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// What one of so many that wait costs, of so many names: to come, to look while others are ahead, and to go.
    fn steps_each(waiting: u64, names: u64) -> u64 {
        let pacer = Pacer::new(&Pacing::new().gap(Duration::from_millis(1)), Duration::from_secs(60));
        let at = |millis| Monotonic::ORIGIN.after(Duration::from_millis(millis));
        let entry = |n: u64| {
            Entry::new()
                .caller(Caller::of(n.checked_rem(names).unwrap().to_le_bytes()))
                .deadline(at(1_000_000))
        };
        let mut spots = std::collections::VecDeque::new();
        drop(pacer.enter(&entry(0), at(0)));
        STEPS.set(0);
        for n in 0..waiting {
            let Entered::Queued(mut spot) = pacer.enter(&entry(n), at(0)) else { panic!("the gap runs") };
            assert!(matches!(spot.turn(Waker::noop(), at(0)), Turn::Sleep(_)));
            spots.push_back(spot);
        }
        for millis in 1..=waiting {
            let mut spot = spots.pop_front().unwrap();
            assert!(matches!(spot.turn(Waker::noop(), at(millis)), Turn::Go(_)), "{millis}");
        }
        STEPS.get().checked_div(waiting).unwrap()
    }

    /// A logarithm for each, however many wait: ten thousand cost twice what a hundred do, not a hundred times.
    #[test]
    fn ten_thousand_that_wait_cost_a_logarithm_each() {
        for names in [1, 10, u64::MAX] {
            let (few, many) = (steps_each(100, names), steps_each(10_000, names));
            assert!(many < 3 * few && many < 600, "{few} and {many} with {names}");
        }
    }
}
