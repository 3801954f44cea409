use std::iter::repeat_n;
use std::time::Duration;

/// Where a number saturates: 2³¹ seconds, the value RFC 9111 section 1.2.2 gives to what is too large.
pub(crate) const LONGEST: Duration = Duration::from_secs(1 << 31);

/// A plain number of seconds: digits, or digits, a dot and digits. Leading zeros are decimal. No sign, exponent,
/// unit or white space. RFC 9110 section 10.2.3 has the digits alone; vendors send decimals too.
pub(crate) fn seconds(text: &[u8]) -> Option<Duration> {
    number(text, 3)
}

/// A plain number of milliseconds, written as [`seconds`] are.
pub(crate) fn milliseconds(text: &[u8]) -> Option<Duration> {
    number(text, 0)
}

/// A plain number of seconds or milliseconds since some epoch, in milliseconds: `places` is 3 for seconds, 0 for
/// milliseconds. It saturates at the end of `u64`, not at [`LONGEST`], which a Unix time passes in 2038.
pub(crate) fn since_epoch(text: &[u8], places: usize) -> Option<u64> {
    let (whole, fraction) = parts(text)?;
    let (shown, below) = fraction.split_at(fraction.len().min(places));
    let padding = repeat_n(&b'0', places.saturating_sub(shown.len()));
    let millis = value(whole.iter().chain(shown).chain(padding));
    let round_up = u64::from(below.iter().any(|digit| *digit != b'0'));
    Some(millis.saturating_add(round_up))
}

/// A plain number times `unit` nanoseconds, rounded up. Decimals beyond the eighteenth count as one more in the last.
pub(super) fn nanoseconds(text: &[u8], unit: u64) -> Option<u128> {
    const PLACES: usize = 18;
    const SCALE: u128 = 1_000_000_000_000_000_000;
    let (whole, fraction) = parts(text)?;
    if fraction.is_empty() {
        return Some(u128::from(value(whole.iter())).saturating_mul(u128::from(unit)));
    }
    let (shown, below) = fraction.split_at(fraction.len().min(PLACES));
    let padding = repeat_n(&b'0', PLACES.saturating_sub(shown.len()));
    let below = u64::from(below.iter().any(|digit| *digit != b'0'));
    let fraction = value(shown.iter().chain(padding)).saturating_add(below);
    let whole = u128::from(value(whole.iter())).saturating_mul(u128::from(unit));
    Some(whole.saturating_add(u128::from(fraction).saturating_mul(u128::from(unit)).div_ceil(SCALE)))
}

/// A number of which the first `places` decimal places are whole milliseconds.
fn number(text: &[u8], places: usize) -> Option<Duration> {
    Some(Duration::from_millis(since_epoch(text, places)?).min(LONGEST))
}

/// The digits before and behind the dot.
fn parts(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let whole = digits(parts.next()?)?;
    let fraction = match parts.next() {
        Some(fraction) => digits(fraction)?,
        None => b"",
    };
    Some((whole, fraction))
}

fn digits(text: &[u8]) -> Option<&[u8]> {
    (!text.is_empty() && text.iter().all(u8::is_ascii_digit)).then_some(text)
}

/// The value of ASCII digits, saturating.
fn value<'a>(digits: impl Iterator<Item = &'a u8>) -> u64 {
    digits.fold(0, |value: u64, digit| {
        value.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_in_their_own_unit() {
        for (text, as_seconds, as_milliseconds) in [
            ("0", 0, 0),
            ("5", 5_000, 5),
            ("00120", 120_000, 120),
            ("1.5", 1_500, 2),
            ("0.503", 503, 1),
            ("299.997", 299_997, 300),
            ("0.0001", 1, 1),
            ("1.0000000000000000000000000000000000000001", 1_001, 2),
            ("7.000", 7_000, 7),
            ("1000000", 1_000_000_000, 1_000_000),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(Duration::from_millis(as_seconds)), "{text} s");
            assert_eq!(
                milliseconds(text.as_bytes()),
                Some(Duration::from_millis(as_milliseconds)),
                "{text} ms"
            );
        }
    }

    #[test]
    fn what_is_no_plain_decimal_is_refused() {
        for text in [
            "",
            " 1",
            "1 ",
            "-1",
            "-0",
            "+1",
            "1.",
            ".5",
            ".",
            "1..5",
            "1.5.5",
            "1e3",
            "NaN",
            "inf",
            "infinity",
            "0x10",
            "120s",
            "5ms",
            "1_000",
            "1,5",
            "１２０",
            "120\u{a0}",
            "120\0",
        ] {
            assert_eq!(seconds(text.as_bytes()), None, "{text:?}");
            assert_eq!(milliseconds(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_within_the_longest(text: Vec<u8>) {
            prop_assert!(seconds(&text).is_none_or(|delay| delay <= LONGEST));
            prop_assert!(milliseconds(&text).is_none_or(|delay| delay <= LONGEST));
        }

        #[test]
        fn any_number_is_read_and_saturates(text in "[0-9]{1,60}(\\.[0-9]{1,60})?") {
            prop_assert!(seconds(text.as_bytes()).is_some_and(|delay| delay <= LONGEST));
            prop_assert!(milliseconds(text.as_bytes()).is_some_and(|delay| delay <= LONGEST));
        }

        #[test]
        fn a_decimal_is_rounded_up_by_less_than_a_millisecond(whole in 0..1_u64 << 31, billionths in 0..1_000_000_000_u32) {
            let text = format!("{whole}.{billionths:09}");
            let exact = Duration::new(whole, billionths);
            let read = seconds(text.as_bytes()).unwrap();
            prop_assert!(exact <= read && read < exact.saturating_add(Duration::from_millis(1)), "{read:?}");

            let rounded = Duration::from_millis(whole.saturating_add(u64::from(billionths != 0)));
            prop_assert_eq!(milliseconds(text.as_bytes()), Some(rounded));
        }
    }
}
