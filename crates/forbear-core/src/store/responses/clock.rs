use std::time::Duration;

use crate::work::Stamp;

/// A wall clock that never goes back, for a store that keeps times.
///
/// When the one it follows is set back by more than a second, it goes on from where it was, and stays so far ahead. What was kept before then counts
/// as no younger than it is.
///
/// ```
/// use forbear_core::store::StoreClock;
/// use forbear_core::work::Stamp;
///
/// let mut clock = StoreClock::default();
/// assert_eq!(clock.read(Stamp::from_millis(100_000)).as_millis(), 100_000);
/// assert_eq!(clock.read(Stamp::from_millis(40_000)).as_millis(), 100_000);
/// assert_eq!(clock.read(Stamp::from_millis(41_000)).as_millis(), 101_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreClock {
    latest: Stamp,
    ahead: Duration,
}

/// So far may two who look at the same clock be apart: it then stands still, and does not hurry.
const APART: Duration = Duration::from_secs(1);

impl StoreClock {
    /// What it says where the clock that it follows says `now`. Read it when something is asked for, and not when that is done: a time that is past by
    /// then, since others read later ones, is taken for a clock that was set back.
    #[must_use]
    pub fn read(&mut self, now: Stamp) -> Stamp {
        let says = now.after(self.ahead);
        let back = self.latest.since(says);
        if back > APART {
            self.ahead = self.ahead.saturating_add(back);
        }
        self.latest = self.latest.max(says);
        self.latest
    }

    /// Somebody read this of it before, such as the process before this one.
    pub fn was_at(&mut self, latest: Stamp) {
        self.latest = self.latest.max(latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Stamp {
        Stamp::EPOCH.after(Duration::from_secs(seconds))
    }

    #[test]
    fn it_goes_on_from_where_it_was_also_in_the_next_process() {
        let mut clock = StoreClock::default();
        clock.was_at(at(5_000));
        assert_eq!(clock.read(at(1_000)), at(5_000));
        assert_eq!(clock.read(at(1_060)), at(5_060));
        // It is set right again: nothing goes back.
        assert_eq!(clock.read(at(6_000)), at(10_000));
    }

    #[test]
    fn who_comes_a_little_late_makes_it_no_faster() {
        let mut clock = StoreClock::default();
        for second in 1..1_000 {
            assert_eq!(clock.read(at(second)), at(second));
            assert_eq!(clock.read(at(second).before(Duration::from_millis(900))), at(second));
        }
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let mut clock = StoreClock::default();
        clock.was_at(Stamp::NEVER);
        assert_eq!(clock.read(at(1)), Stamp::NEVER);
        assert_eq!(clock.read(at(2)), Stamp::NEVER);
    }
}
