use std::ops::RangeInclusive;
use std::time::Duration;

use super::UnixTime;

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Fifty years of 365.2425 days: how far ahead a year of two digits may lie.
const FIFTY_YEARS: Duration = Duration::from_secs(1_577_847_600);

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// An HTTP date in any of the three forms of RFC 9110 section 5.6.7, or with one of their usual misspellings: a
/// weekday that is not that day's, a leap second (the next minute), `UTC`, a numeric zone, days of one digit.
/// A year of two digits is the latest that lies at most fifty years after `now`.
pub(crate) fn http_date(text: &[u8], now: UnixTime) -> Option<UnixTime> {
    let text = std::str::from_utf8(text).ok()?;
    if text.len() > 64 || !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    strict(text).or_else(|| lenient(text, now))
}

/// Without the form that has dashes: `httpdate` takes its years from 70 up for 1970, which the RFC does not.
fn strict(text: &str) -> Option<UnixTime> {
    if text.contains('-') {
        return None;
    }
    httpdate::parse_http_date(text).ok().map(UnixTime::from)
}

fn lenient(text: &str, now: UnixTime) -> Option<UnixTime> {
    let (weekday, rest) = text.split_at_checked(text.find([',', ' '])?)?;
    WEEKDAYS.iter().find(|full| is_weekday(weekday, full))?;
    let (comma, rest) = rest.strip_prefix(',').map_or((false, rest), |rest| (true, rest));
    let fields: Vec<&str> = rest.split(' ').filter(|field| !field.is_empty()).collect();
    let (day, month, year, time, zone) = match (comma, fields.as_slice()) {
        (true, &[day, month, year, time, zone]) => (day, month, year, time, zone),
        (true, &[date, time, zone]) => {
            let (day, rest) = date.split_once('-')?;
            let (month, year) = rest.split_once('-')?;
            (day, month, year, time, zone)
        }
        (false, &[month, day, time, year]) => (day, month, year, time, "GMT"),
        _ => return None,
    };
    let month = MONTHS.iter().zip(1..).find(|(name, _)| month.eq_ignore_ascii_case(name))?.1;
    let day = int(day, 1..=2)?;
    let seconds = seconds_of_day(time)?.saturating_sub(offset(zone)?);
    let at = |year| Some(UnixTime::from_secs(midnight(year, month, day)?.saturating_add(seconds)));
    if year.len() == 2 {
        let year = int(year, 2..=2)?;
        let latest = now.after(FIFTY_YEARS);
        let mut centuries = (0..=9900).rev().step_by(100);
        return centuries
            .find_map(|century: i64| at(century.saturating_add(year)).filter(|at| *at <= latest));
    }
    at(int(year, 4..=4)?)
}

/// Whether `word` is the weekday `full` or its first three letters, in any case.
fn is_weekday(word: &str, full: &str) -> bool {
    word.eq_ignore_ascii_case(full) || full.get(..3).is_some_and(|short| word.eq_ignore_ascii_case(short))
}

/// Digits and nothing else, as many as `width` allows; at most four are asked for.
fn int(text: &str, width: RangeInclusive<usize>) -> Option<i64> {
    let digits = width.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// `hh:mm:ss`. A second of 60 is the next minute's first.
fn seconds_of_day(time: &str) -> Option<i64> {
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let second = int(second, 2..=2).filter(|second| *second <= 60)?;
    Some(hours_and_minutes(hour, minute)?.saturating_add(second))
}

/// How many seconds the clocks of `zone` are ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("GMT") || zone.eq_ignore_ascii_case("UTC") {
        return Some(0);
    }
    let (sign, digits) = zone.split_at_checked(1)?;
    let (hour, minute) = digits.split_at_checked(2)?;
    let seconds = hours_and_minutes(hour, minute)?;
    match sign {
        "+" => Some(seconds),
        "-" => Some(seconds.saturating_neg()),
        _ => None,
    }
}

pub(super) fn hours_and_minutes(hour: &str, minute: &str) -> Option<i64> {
    let hour = int(hour, 2..=2).filter(|hour| *hour < 24)?;
    let minute = int(minute, 2..=2).filter(|minute| *minute < 60)?;
    Some(hour.saturating_mul(60).saturating_add(minute).saturating_mul(60))
}

/// Seconds from the Unix epoch to the first of a day in the Gregorian calendar; `None` where there is no such day.
#[expect(clippy::arithmetic_side_effects, reason = "a year has four digits: the sums stay below 10¹²")]
pub(super) fn midnight(year: i64, month: usize, day: i64) -> Option<i64> {
    const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    /// From 1 January of year 1 to 1 January 1970.
    const BEFORE_EPOCH: i64 = 719_162;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let years = year - 1;
    let leap_days = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    let in_year = BEFORE_MONTH.get(month - 1)? + i64::from(leap && month > 2) + day - 1;
    Some((years * 365 + leap_days + in_year - BEFORE_EPOCH) * 86_400)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    /// 30 November 2026.
    fn today() -> UnixTime {
        UnixTime::from_secs(1_795_996_800)
    }

    fn read(text: &str) -> Option<i64> {
        http_date(text.as_bytes(), today()).map(UnixTime::as_secs)
    }

    #[test]
    fn every_form_and_its_misspellings_are_read() {
        for text in [
            "Mon, 30 Nov 2026 00:01:00 GMT",
            "Monday, 30-Nov-26 00:01:00 GMT",
            "Mon Nov 30 00:01:00 2026",
            "Fri, 30 Nov 2026 00:01:00 GMT",
            "Mon, 30 Nov 2026 00:00:60 GMT",
            "Mon, 30 Nov 2026 00:01:00 UTC",
            "Sun, 29 Nov 2026 19:01:00 -0500",
            "Mon, 30 Nov 2026 05:31:00 +0530",
            "mon, 30 nov 2026 00:01:00 gmt",
            "Mon,  30 Nov 2026  00:01:00 GMT",
            "Mon, 30-Nov-2026 00:01:00 GMT",
            "Mon, 30 Nov 26 00:01:00 GMT",
            "Monday, 30 Nov 2026 00:01:00 GMT",
        ] {
            assert_eq!(read(text), Some(1_795_996_860), "{text}");
        }
        for text in [
            "Tue Dec  1 00:01:00 2026",
            "Tue Dec 1 00:01:00 2026",
            "Tue Dec 01 00:01:00 2026",
            "Tue, 1 Dec 2026 00:01:00 GMT",
        ] {
            assert_eq!(read(text), Some(1_796_083_260), "{text}");
        }
        assert_eq!(read("Mon, 01 Jan 0001 00:00:00 GMT"), Some(-62_135_596_800));
        assert_eq!(read("Sat, 29 Feb 0000 00:00:00 GMT"), Some(-62_162_121_600));
        assert_eq!(read("Fri, 31 Dec 9999 23:59:59 -2359"), Some(253_402_387_139));
    }

    #[test]
    fn what_is_no_http_date_is_refused() {
        for text in [
            "",
            "soon",
            "Mon",
            "Mon,",
            "30 Nov 2026 00:01:00 GMT",
            "Mon 30 Nov 2026 00:01:00 GMT",
            "Mon, 30 Nov 2026 00:01:00",
            "Mon, 30 Nov 2026 00:01:00 GMT; x",
            "Mon, 30 Nov 2026 00:01:00 GMT GMT",
            "Mon, 30 Nov 2026 00:01:00 PST",
            "Moon, 30 Nov 2026 00:01:00 GMT",
            "M, 30 Nov 2026 00:01:00 GMT",
            "Mon, 30 Nov 2026 00:01:00 +05:30",
            "Mon, 30 Nov 2026 00:01:00 +2400",
            "Mon, 31 Feb 2026 00:00:00 GMT",
            "Sun, 29 Feb 2026 00:00:00 GMT",
            "Mon, 29 Feb 2100 00:00:00 GMT",
            "Tue, 31 Nov 2026 00:00:00 GMT",
            "Mon, 00 Nov 2026 00:01:00 GMT",
            "Mon, 030 Nov 2026 00:01:00 GMT",
            "Mon, 30 Nov 2026 24:00:00 GMT",
            "Mon, 30 Nov 2026 00:60:00 GMT",
            "Mon, 30 Nov 2026 00:01:61 GMT",
            "Mon, 30 Nov 2026 0:01:00 GMT",
            "Mon, 30 Nov 2026 00:01 GMT",
            "Mon, 30 Nov 12026 00:01:00 GMT",
            "Mon, 30 Nov 026 00:01:00 GMT",
            "Mon, 30 Nov -026 00:01:00 GMT",
            "Mon, 30-Nov-2026-1 00:01:00 GMT",
            "Mon, 30 Nov 2026 00:01:00 GMT\u{b}",
            "Mon, 30 Nov 2026\t00:01:00 GMT",
            "Mon Nov 30 2026 01:00:02 GMT+0100 (Central European Standard Time)",
            "2026-11-30T00:01:00Z",
            "Ｍon, 30 Nov 2026 00:01:00 GMT",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_date_has_at_most_64_bytes() {
        let padded = |spaces: usize| format!("Mon,{:spaces$}30 Nov 2026 00:01:00 GMT", "");
        let of_length = |length: usize| padded(length - padded(0).len());
        assert_eq!(read(&of_length(64)), Some(1_795_996_860));
        assert_eq!(read(&of_length(65)), None);
    }

    #[test]
    fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
        let year = |text: &str| {
            let at = UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(read(text)?).ok()?))?;
            Some(httpdate::fmt_http_date(at)[12..16].to_owned())
        };
        assert_eq!(year("Sunday, 06-Nov-94 08:49:37 GMT").as_deref(), Some("1994"));
        // 1976 by the weekday, and by a fixed pivot of 70: the distance alone decides.
        assert_eq!(year("Monday, 29-Nov-76 00:00:00 GMT").as_deref(), Some("2076"));
        assert_eq!(year("Wednesday, 01-Dec-76 00:00:00 GMT").as_deref(), Some("1976"));
        // No leap year in 2100: the latest 29 February of a year 00.
        assert_eq!(year("Tuesday, 29-Feb-00 00:00:00 GMT").as_deref(), Some("2000"));
        let turn = http_date(b"Thu, 31 Dec 2099 23:59:50 GMT", today()).unwrap();
        let next = http_date(b"Friday, 01-Jan-00 00:00:10 GMT", turn).unwrap();
        assert_eq!(next.since(turn), Duration::from_secs(20));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text: Vec<u8>, now: i64) {
            let _ = http_date(&text, UnixTime::from_secs(now));
        }

        #[test]
        fn what_looks_like_a_date_is_read_or_refused(
            text in "(Mon|Friday)[, ]{1,2}[0-9]{0,3}[ -](Feb|Dec|[0-9]{2})[ -][0-9]{0,5} [0-9]{2}:[0-9]{2}:[0-9]{2}( GMT| [+-][0-9]{4}|)",
            now: i64,
        ) {
            let _ = http_date(text.as_bytes(), UnixTime::from_secs(now));
        }

        /// The calendar of `httpdate` as the oracle of our own.
        #[test]
        fn all_forms_of_a_date_are_that_second(secs in 0..253_402_300_800_i64) {
            let at = UNIX_EPOCH.checked_add(Duration::from_secs(secs.unsigned_abs())).unwrap();
            let imf = httpdate::fmt_http_date(at);
            let (day, month, year, time) = (&imf[5..7], &imf[8..11], &imf[12..16], &imf[17..25]);
            prop_assert_eq!(strict(&imf), Some(UnixTime::from_secs(secs)));
            let now = UnixTime::from_secs(secs);
            for text in [
                imf.clone(),
                format!("Sunday, {day}-{month}-{} {time} GMT", &year[2..]),
                format!("Sun {month} {day} {time} {year}"),
                format!("Sun, {day} {month} {year} {time} +0000"),
            ] {
                prop_assert_eq!(lenient(&text, now), Some(now), "{}", text);
            }
        }
    }
}
