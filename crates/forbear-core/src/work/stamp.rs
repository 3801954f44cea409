use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point of the wall clock: milliseconds since 1970-01-01 00:00 UTC. It outlives the process, as [`Monotonic`] does not.
///
/// Its arithmetic saturates. A wall clock may be set back or forward: what is kept by it is [mended](super::Row::mend).
///
/// [`Monotonic`]: crate::time::Monotonic
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(u64);

impl Stamp {
    /// The earliest one.
    pub const EPOCH: Self = Self(0);
    /// The latest one that every store can hold: `i64::MAX` milliseconds.
    pub const NEVER: Self = Self(i64::MAX as u64);

    /// So many milliseconds after the epoch, at most [`Stamp::NEVER`].
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::NEVER.0 { Self::NEVER } else { Self(millis) }
    }

    /// What a wall clock says; the epoch where it says something earlier.
    #[must_use]
    pub fn of(clock: SystemTime) -> Self {
        Self::EPOCH.after(clock.duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// Milliseconds since the epoch; never more than `i64::MAX`.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// `self + duration`, whole milliseconds, at most [`Stamp::NEVER`].
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// `self - duration`, whole milliseconds, at least [`Stamp::EPOCH`].
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` to `self`; zero where `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_what_every_store_can_hold() {
        assert_eq!(Stamp::NEVER.after(Duration::MAX), Stamp::NEVER);
        assert_eq!(Stamp::from_millis(u64::MAX), Stamp::NEVER);
        assert_eq!(i64::try_from(Stamp::NEVER.as_millis()), Ok(i64::MAX));
        assert_eq!(Stamp::EPOCH.since(Stamp::NEVER), Duration::ZERO);
        assert_eq!(Stamp::of(UNIX_EPOCH + Duration::from_millis(1_234)).as_millis(), 1_234);
        assert_eq!(Stamp::of(UNIX_EPOCH - Duration::from_secs(1)), Stamp::EPOCH);
    }
}
