use std::cell::OnceCell;
use std::time::{Duration, SystemTime};

use http::header::{self, HeaderMap};

use super::decimal::LONGEST;
use super::{Delay, UnixTime, elements, http_date, seconds, trim_ows};

/// The circumstances in which a response was received: what its delays count from.
///
/// A response that lay in a cache for `Age` (RFC 9111 section 5.1) counts from its origin's clock, which now shows
/// `Date` plus `Age`, and so a relative delay has run for `Age` already. Without a readable `Date` an absolute time
/// is compared with the caller's wall clock, which shows the present whatever the `Age`: nothing is subtracted.
#[derive(Debug, Clone)]
pub(crate) struct Receipt<'h> {
    headers: &'h HeaderMap,
    wall: UnixTime,
    age: Duration,
    /// Read once, and only where something is compared with it.
    now: OnceCell<UnixTime>,
}

impl<'h> Receipt<'h> {
    /// A response with `headers`, received when the caller's wall clock showed `wall`.
    pub(crate) fn new(headers: &'h HeaderMap, wall: SystemTime) -> Self {
        // Of several ages the least, for the longest delay.
        let age = elements(&headers.get_all(header::AGE)).filter_map(seconds).min().unwrap_or_default();
        Self { headers, wall: wall.into(), age, now: OnceCell::new() }
    }

    pub(crate) fn headers(&self) -> &'h HeaderMap {
        self.headers
    }

    /// Whether the response came out of a cache.
    pub(crate) fn aged(&self) -> bool {
        !self.age.is_zero()
    }

    /// What is left of a delay that was relative when the response was made; one that is too long saturates.
    pub(crate) fn relative(&self, delay: Duration) -> Delay {
        Delay { duration: delay.min(LONGEST).saturating_sub(self.age), absolute: false }
    }

    /// The time until an HTTP date; zero where it is past.
    pub(crate) fn until(&self, date: &[u8]) -> Option<Delay> {
        http_date(date, self.now()).map(|at| self.until_time(at))
    }

    /// The time until `at`; zero where it is past.
    pub(crate) fn until_time(&self, at: UnixTime) -> Delay {
        Delay { duration: at.since(self.now()), absolute: true }
    }

    /// The origin's present; of several dates the earliest, for the longest delay.
    fn now(&self) -> UnixTime {
        *self.now.get_or_init(|| {
            let dates = self.headers.get_all(header::DATE).iter();
            let date = dates.filter_map(|date| http_date(trim_ows(date.as_bytes()), self.wall)).min();
            date.map_or(self.wall, |date| date.after(self.age))
        })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const WALL: Duration = Duration::from_secs(1_795_996_800); // 30 November 2026

    fn received(lines: &[(http::HeaderName, &'static str)], with: impl Fn(&Receipt<'_>)) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_static(value));
        }
        with(&Receipt::new(&headers, SystemTime::UNIX_EPOCH.checked_add(WALL).unwrap()));
    }

    fn until(receipt: &Receipt<'_>) -> u64 {
        receipt.until(b"Mon, 30 Nov 2026 00:01:00 GMT").unwrap().duration.as_secs()
    }

    #[test]
    fn age_is_subtracted_from_what_the_origin_counted() {
        received(&[(header::AGE, "20"), (header::DATE, "Mon, 30 Nov 2026 00:00:10 GMT")], |receipt| {
            assert!(receipt.aged());
            assert_eq!(until(receipt), 30);
            assert_eq!(receipt.relative(Duration::from_secs(60)).duration, Duration::from_secs(40));
            assert_eq!(receipt.relative(Duration::from_secs(10)).duration, Duration::ZERO);
        });
    }

    #[test]
    fn age_is_not_subtracted_from_the_callers_own_clock() {
        received(&[(header::AGE, "20")], |receipt| {
            assert_eq!(until(receipt), 60);
        });
        received(&[(header::AGE, "20"), (header::DATE, "yesterday")], |receipt| {
            assert_eq!(until(receipt), 60);
        });
    }

    #[test]
    fn of_several_ages_and_dates_those_of_the_longest_delay_count() {
        let ages = [(header::AGE, "20, 5"), (header::AGE, "old")];
        let dates = ["Mon, 30 Nov 2026 00:00:30 GMT", "Mon, 30 Nov 2026 00:00:10 GMT"]
            .map(|date| (header::DATE, date));
        received(&[ages, dates].concat(), |receipt| {
            assert_eq!(until(receipt), 45);
        });
    }

    #[test]
    fn an_age_that_cannot_be_read_is_none() {
        received(&[(header::AGE, "-5")], |receipt| {
            assert!(!receipt.aged());
        });
        received(&[(header::AGE, "0")], |receipt| {
            assert!(!receipt.aged());
        });
    }
}
