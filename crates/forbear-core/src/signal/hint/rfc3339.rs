use std::time::Duration;

use super::UnixTime;
use super::date::{hours_and_minutes, midnight};

/// A date and time as RFC 3339 writes them, and as vendors bend them: without seconds, with a space for the `T`, with a
/// zone of `+0530`, or with none (UTC). A fraction is rounded up to the millisecond; a second of 60 is the next minute's
/// first.
pub(crate) fn rfc3339(text: &[u8]) -> Option<UnixTime> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii() && text.len() <= 64)?;
    let (date, rest) = text.split_at_checked(10)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date.as_bytes() else {
        return None;
    };
    let (year, month, day) = (int([y1, y2, y3, y4])?, int([m1, m2])?, int([d1, d2])?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-', ' ']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at_checked(zone_at)?;
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) => (clock, super::seconds(format!("0.{fraction}").as_bytes())?),
        None => (time, Duration::ZERO),
    };
    let (hour, minute, second) = match *clock.as_bytes() {
        [h1, h2, b':', m1, m2] => (int([h1, h2])?, int([m1, m2])?, 0),
        [h1, h2, b':', m1, m2, b':', s1, s2] => (int([h1, h2])?, int([m1, m2])?, int([s1, s2])?),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = hour.saturating_mul(3600).saturating_add(minute.saturating_mul(60)).saturating_add(second);
    let month = usize::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    let at = midnight(year, month, day)?.saturating_add(seconds).saturating_sub(offset(zone.trim_start())?);
    Some(UnixTime::from_secs(at).after(fraction))
}

/// The value of so many digits, and of nothing else.
fn int<const N: usize>(digits: [u8; N]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit.saturating_sub(b'0')))?;
        Some(value.saturating_mul(10).saturating_add(digit))
    })
}

/// How many seconds the clocks of `zone` are ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let (sign, digits) = zone.split_at_checked(1)?;
    let (hour, minute) = digits.split_once(':').or_else(|| digits.split_at_checked(2))?;
    let seconds = hours_and_minutes(hour, minute)?;
    match sign {
        "+" => Some(seconds),
        "-" => Some(seconds.saturating_neg()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<i64> {
        rfc3339(text.as_bytes()).map(UnixTime::as_millis)
    }

    #[test]
    fn every_way_to_write_it_is_read() {
        for text in [
            "2026-11-30T00:01:00Z",
            "2026-11-30t00:01:00z",
            "2026-11-30T00:01Z",
            "2026-11-30 00:01:00",
            "2026-11-30 00:01:00 UTC",
            "2026-11-30T00:01:00.000Z",
            "2026-11-29T19:01:00-05:00",
            "2026-11-29T19:01:00-0500",
            "2026-11-30T05:31:00+05:30",
            "2026-11-30T23:59:00+23:58",
            "2026-11-30T00:00:60Z",
        ] {
            assert_eq!(read(text), Some(1_795_996_860_000), "{text}");
        }
        assert_eq!(read("2026-11-30T00:00:00.0001Z"), Some(1_795_996_800_001));
        assert_eq!(read("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(read("2000-02-29T00:00:00Z"), Some(951_782_400_000));
        assert_eq!(read("2024-03-01T00:00:00Z"), Some(1_709_251_200_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026-11-30",
            "2026-11-30T",
            "2026-11-30T00",
            "2026-11-30T24:00:00Z",
            "2026-11-30T00:60:00Z",
            "2026-11-30T00:00:61Z",
            "2026-00-30T00:00:00Z",
            "2026-13-30T00:00:00Z",
            "2026-02-31T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-06-31T00:00:00Z",
            "2026-09-31T00:00:00Z",
            "2026-11-31T00:00:00Z",
            "2026-12-32T00:00:00Z",
            "2026-11-30T00:00:00.Z",
            "2026-11-30T00:00:00.-1Z",
            "2026-11-30T00:00:00ZZ",
            "2026-11-30T00:00:00+5:30",
            "2026-11-30T00:00:00PST",
            "26-11-30T00:00:00Z",
            "+026-11-30T00:00:00Z",
            "2026-11-30T00:00:00Z x",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_time_has_at_most_64_bytes() {
        let of_length = |length: usize| format!("{:0<width$}Z", "2026-11-30T00:01:00.", width = length - 1);
        assert_eq!(read(&of_length(64)), Some(1_795_996_860_000));
        assert_eq!(read(&of_length(65)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text: Vec<u8>) {
            let _ = rfc3339(&text);
        }

        #[test]
        fn text_like_a_time_is_read_or_refused(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{0,30})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?") {
            let _ = rfc3339(text.as_bytes());
        }
    }
}
