//! Durations and points in time for people.

use std::fmt;
use std::time::{Duration, SystemTime};

use forbear_core::health::Short;
use forbear_core::signal::Delay;
use jiff::Timestamp;

const HOUR: u128 = 60 * 60 * 1000;

/// `3m58s`, and `11d13h` where it is two days or more; rounded up.
pub(super) struct Length(pub(super) Duration);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.0.as_millis().div_ceil(HOUR);
        if hours <= 48 {
            return Short(self.0).fmt(f);
        }
        match hours % 24 {
            0 => write!(f, "{}d", hours / 24),
            rest => write!(f, "{}d{rest}h", hours / 24),
        }
    }
}

/// `1m00s, until 2026-11-30T00:01:00Z`; without the end where the calendar has no name for it.
pub(super) fn until(delay: Delay, now: SystemTime) -> String {
    with_end(delay, "until", now)
}

/// `1m00s, at 2026-11-30T00:01:00Z`.
pub(super) fn at(delay: Delay, now: SystemTime) -> String {
    with_end(delay, "at", now)
}

fn with_end(delay: Delay, word: &str, now: SystemTime) -> String {
    let length = Length(delay.duration);
    match end(now, delay.duration) {
        Some(_) if delay.duration.is_zero() => length.to_string(),
        Some(end) => format!("{length}, {word} {end}"),
        None => length.to_string(),
    }
}

/// The end, in full seconds, rounded up.
fn end(now: SystemTime, duration: Duration) -> Option<Timestamp> {
    let end = Timestamp::try_from(now.checked_add(duration)?).ok()?;
    let part = i64::from(end.subsec_nanosecond() > 0);
    Timestamp::from_second(end.as_second().checked_add(part)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    #[test]
    fn a_length_is_short_and_rounded_up() {
        let length = |seconds| Length(Duration::from_secs(seconds)).to_string();
        assert_eq!([length(0), length(60), length(2 * DAY)], ["0ms", "1m00s", "48h00m"]);
        assert_eq!([length(2 * DAY + 1), length(11 * DAY), length(1_000_000)], ["2d1h", "11d", "11d14h"]);
    }

    #[test]
    fn an_end_is_a_full_second_or_nothing() {
        let delay = |millis| Delay { duration: Duration::from_millis(millis), absolute: false };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_996_800);
        assert_eq!(until(delay(60_000), now), "1m00s, until 2026-11-30T00:01:00Z");
        assert_eq!(until(delay(1), now), "1ms, until 2026-11-30T00:00:01Z");
        assert_eq!(until(delay(0), now), "0ms");
        let last = SystemTime::try_from(Timestamp::MAX).unwrap();
        assert_eq!(until(delay(60_000), last), "1m00s");
        let longest = Delay { duration: Duration::MAX, absolute: false };
        assert_eq!(until(longest, now), "213503982334601d8h");
    }
}
