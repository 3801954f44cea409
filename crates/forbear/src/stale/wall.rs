use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use forbear_core::time::Monotonic;

use crate::clock;

/// A clock that goes faster, as one that is slewed, is not one that was set.
const SET: Duration = Duration::from_secs(1);

/// The wall clock, never behind the monotonic one: a clock that was set back makes no answer younger, and a suspend makes it older. One
/// that was set ahead, and back again, goes on from ahead: an answer that came meanwhile is not fresh until then.
#[derive(Debug, Clone)]
pub(super) struct Wall(Arc<Anchor>);

#[derive(Debug)]
struct Anchor {
    /// One moment by both clocks.
    moment: (SystemTime, Monotonic),
    /// By how much the wall clock was set ahead since, in nanoseconds.
    ahead: AtomicU64,
}

impl Wall {
    pub(super) fn new() -> Self {
        Self::from((clock::outliving(), clock::now()))
    }

    fn from(moment: (SystemTime, Monotonic)) -> Self {
        Self(Arc::new(Anchor { moment, ahead: AtomicU64::new(0) }))
    }

    pub(super) fn now(&self) -> SystemTime {
        self.at(clock::now(), clock::wall())
    }

    fn at(&self, now: Monotonic, shown: SystemTime) -> SystemTime {
        let Anchor { moment: (wall, monotonic), ahead } = &*self.0;
        let counted = wall.checked_add(now.since(*monotonic)).unwrap_or(*wall);
        let known = Duration::from_nanos(ahead.load(Ordering::Relaxed));
        let shows = shown.duration_since(counted).unwrap_or_default();
        if shows > known.saturating_add(SET) {
            let nanos = u64::try_from(shows.as_nanos()).unwrap_or(u64::MAX);
            ahead.fetch_max(nanos, Ordering::Relaxed);
        }
        counted.checked_add(shows.max(known)).unwrap_or(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_ahead_and_back_goes_on_from_ahead() {
        let (day, second) = (Duration::from_secs(86_400), Duration::from_secs(1));
        let start = SystemTime::UNIX_EPOCH + 20_000 * day;
        let wall = Wall::from((start, Monotonic::ORIGIN));
        let at = |after: Duration, shown: SystemTime| wall.at(Monotonic::ORIGIN.after(after), shown);
        assert_eq!(at(second, start + second), start + second);
        // Set back, it is not believed; slewed, it is, and nothing is kept of that.
        assert_eq!(at(2 * second, start - day), start + 2 * second);
        assert_eq!(at(3 * second, start + 4 * second), start + 4 * second);
        assert_eq!(at(3 * second, start + 3 * second), start + 3 * second);
        // Ten years ahead, and back.
        assert_eq!(at(4 * second, start + 3_650 * day), start + 3_650 * day);
        assert_eq!(at(5 * second, start + 5 * second), start + 3_650 * day + second);
        assert_eq!(at(6 * second, SystemTime::UNIX_EPOCH), start + 3_650 * day + 2 * second);
    }
}
