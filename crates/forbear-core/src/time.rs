//! Monotonic time as a plain number.

use std::fmt;
use std::time::Duration;

/// A point in monotonic time: nanoseconds since an origin that the owner of the clock chose.
///
/// It is half the size of a [`std::time::Instant`] in an `Option`, fits an atomic, and its arithmetic saturates
/// instead of panicking: a vendor that asks for 10⁴⁰ seconds costs an end of time, not a crash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Monotonic(u64);

impl Monotonic {
    /// The clock's origin.
    pub const ORIGIN: Self = Self(0);
    /// The last point that can be represented, about 584 years after the origin.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the origin.
    #[must_use]
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// `self + duration`, at most [`Monotonic::NEVER`].
    #[must_use]
    #[inline]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// `self - duration`, at least [`Monotonic::ORIGIN`].
    #[must_use]
    #[inline]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }

    /// The time from `earlier` to `self`; zero where `earlier` is the later one.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// `duration` in whole nanoseconds, saturating.
#[inline]
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Monotonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Monotonic::NEVER.after(Duration::MAX), Monotonic::NEVER);
        assert_eq!(Monotonic::ORIGIN.before(Duration::from_secs(1)), Monotonic::ORIGIN);
        assert_eq!(Monotonic::ORIGIN.since(Monotonic::NEVER), Duration::ZERO);
        let at = Monotonic::ORIGIN.after(Duration::from_millis(1500));
        assert_eq!(at.since(Monotonic::ORIGIN), Duration::from_millis(1500));
        assert_eq!(at.before(Duration::from_millis(500)).as_nanos(), 1_000_000_000);
    }
}
