use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

/// A point in time as RFC 3339 writes it, in UTC, rounded up to the millisecond; `None` outside the years 1970 to 9999.
pub(super) fn rfc3339(at: SystemTime) -> Option<String> {
    let since = at.duration_since(UNIX_EPOCH).ok()?.checked_add(Duration::from_nanos(999_999))?;
    let (mut days, second) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let mut year = 1970;
    while days >= days_of(year) {
        days = days.checked_sub(days_of(year))?;
        year += 1;
        if year > 9999 {
            return None;
        }
    }
    let mut month = 1;
    while days >= days_in(year, month) {
        days = days.checked_sub(days_in(year, month))?;
        month += 1;
    }
    let (day, millis) = (days + 1, since.subsec_millis());
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"))
}

const fn leaps(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of(year: u64) -> u64 {
    if leaps(year) { 366 } else { 365 }
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if leaps(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_over_leap_years_and_the_time_rounds_up() {
        let shown = |seconds: u64, nanos: u32| rfc3339(UNIX_EPOCH + Duration::new(seconds, nanos));
        for (seconds, nanos, expected) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000Z"),
            (951_868_799, 999_000_001, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599, 1, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799, 0, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(shown(seconds, nanos).as_deref(), Some(expected));
        }
        assert_eq!(shown(253_402_300_800, 0), None);
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), None);
    }
}
