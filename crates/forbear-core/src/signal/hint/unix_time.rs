use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in wall-clock time: milliseconds since the Unix epoch, before it negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnixTime(i64);

impl UnixTime {
    /// The second `secs` after the epoch, saturating.
    pub(super) fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// The millisecond `millis` after the epoch, saturating.
    pub(super) fn from_millis(millis: u64) -> Self {
        Self(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    /// Milliseconds since the epoch.
    #[cfg(test)]
    pub(super) fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch.
    #[cfg(test)]
    pub(super) fn as_secs(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// `self + duration`, saturating.
    pub(crate) fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to `self`; zero where `earlier` is the later one.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<SystemTime> for UnixTime {
    /// The millisecond that `time` lies in, so that a delay counted from it is rounded up.
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(0).after(since),
            Err(before) => {
                let nanos = before.duration().as_nanos();
                Self(i64::try_from(nanos.div_ceil(1_000_000)).map_or(i64::MIN, i64::saturating_neg))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_the_epoch_is_a_clock() {
        let before = UNIX_EPOCH.checked_sub(Duration::from_micros(1_500)).unwrap();
        assert_eq!(UnixTime::from(before), UnixTime(-2));
        let day = UNIX_EPOCH.checked_sub(Duration::from_secs(86_400)).unwrap();
        assert_eq!(UnixTime::from(day), UnixTime(-86_400_000));
        assert_eq!(UnixTime(0).since(before.into()), Duration::from_millis(2));
    }
}
