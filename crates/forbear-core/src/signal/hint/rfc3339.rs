use std::ops::RangeInclusive;

use super::UnixTime;
use super::date::{hours_and_minutes, int, midnight};

/// A date and time as RFC 3339 writes them, and as vendors bend them: without seconds, with a space for the `T`, with a
/// zone of `+0530`, or with none (UTC). A fraction is rounded up to the millisecond; a second of 60 is the next minute's
/// first.
pub(crate) fn rfc3339(text: &[u8]) -> Option<UnixTime> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii() && text.len() <= 64)?;
    let (date, rest) = text.split_at_checked(10)?;
    let [year, month, day] = fields(date, '-', [4..=4, 2..=2, 2..=2])?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-', ' ']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at_checked(zone_at)?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = match clock.len() {
        5 => {
            let [hour, minute] = fields(clock, ':', [2..=2, 2..=2])?;
            [hour, minute, 0]
        }
        _ => fields(clock, ':', [2..=2, 2..=2, 2..=2])?,
    };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = hour.saturating_mul(3600).saturating_add(minute.saturating_mul(60)).saturating_add(second);
    let month = usize::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    let at = midnight(year, month, day)?.saturating_add(seconds).saturating_sub(offset(zone.trim_start())?);
    let fraction = super::seconds(format!("0.{fraction}").as_bytes())?;
    Some(UnixTime::from_secs(at).after(fraction))
}

fn fields<const N: usize>(
    text: &str,
    separator: char,
    widths: [RangeInclusive<usize>; N],
) -> Option<[i64; N]> {
    let mut values = [0; N];
    let mut parts = text.split(separator);
    for (value, width) in values.iter_mut().zip(widths) {
        *value = int(parts.next()?, width)?;
    }
    parts.next().is_none().then_some(values)
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
            "2026-11-30T00:00:60Z",
        ] {
            assert_eq!(read(text), Some(1_795_996_860_000), "{text}");
        }
        assert_eq!(read("2026-11-30T00:00:00.0001Z"), Some(1_795_996_800_001));
        assert_eq!(read("1970-01-01T00:00:00Z"), Some(0));
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
            "2026-13-30T00:00:00Z",
            "2026-02-31T00:00:00Z",
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
