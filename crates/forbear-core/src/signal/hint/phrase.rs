use std::time::Duration;

use super::decimal::{LONGEST, nanoseconds};

const UNITS: [(&str, u64); 6] = [
    ("millisecond", 1_000_000),
    ("second", 1_000_000_000),
    ("minute", 60_000_000_000),
    ("hour", 3_600_000_000_000),
    ("day", 86_400_000_000_000),
    ("week", 604_800_000_000_000),
];

/// A delay in English words, from the first character on: `9 minutes before trying again`, `1 second.`, `a minute`. The
/// unit is spelled out, in one or many. Rounded up to the millisecond, at most 2³¹ s.
pub(crate) fn phrase(text: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(text).ok()?.trim_start();
    let (number, rest) = text.split_at_checked(text.find(char::is_whitespace)?)?;
    let number = if matches!(number, "a" | "an" | "one") { "1" } else { number };
    let rest = rest.trim_start();
    let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next()?.to_ascii_lowercase();
    let unit = word.strip_suffix('s').unwrap_or(&word);
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let millis = nanoseconds(number.as_bytes(), *unit)?.div_ceil(1_000_000);
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_and_its_unit_are_read() {
        for (text, millis) in [
            ("9 minutes before trying again.", 540_000),
            ("1 seconds.", 1_000),
            ("1 second", 1_000),
            (" 10 Minutes", 600_000),
            ("250 milliseconds", 250),
            ("1.5 hours", 5_400_000),
            ("a minute", 60_000),
            ("2 days", 172_800_000),
            ("0 seconds", 0),
        ] {
            assert_eq!(phrase(text.as_bytes()), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_has_no_number_or_unit_is_refused() {
        for text in [
            "",
            "9",
            "9minutes",
            "minutes 9",
            "nine minutes",
            "-9 minutes",
            "9 fortnights",
            "9 s",
            "9 minutesx",
        ] {
            assert_eq!(phrase(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_within_bounds(text: Vec<u8>) {
            prop_assert!(phrase(&text).is_none_or(|duration| duration <= LONGEST));
        }
    }
}
