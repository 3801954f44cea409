use std::time::Duration;

use super::decimal::{LONGEST, nanoseconds};

/// A duration as Go prints it: `1s`, `6m0s`, `1h2m3.5s`, `120ms`, `8.64s`; protobuf's `34.074824224s` is one too, and so
/// are days, `1d2h`. Units may not be left out, but for a bare `0`. Rounded up to the millisecond, at most 2³¹ s.
pub(crate) fn go_duration(text: &[u8]) -> Option<Duration> {
    if text == b"0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos = 0_u128;
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let (number, behind) = rest.split_at_checked(digits)?;
        let letters = behind.iter().take_while(|byte| !byte.is_ascii_digit() && **byte != b'.').count();
        let (unit, behind) = behind.split_at_checked(letters)?;
        nanos = nanos.saturating_add(nanoseconds(number, unit_nanos(unit)?)?);
        rest = behind;
    }
    (!text.is_empty()).then(|| up_to_the_millisecond(nanos))
}

fn unit_nanos(unit: &[u8]) -> Option<u64> {
    Some(match unit {
        b"ns" => 1,
        // Both letters that look like a Greek mu.
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => 1_000,
        b"ms" => 1_000_000,
        b"s" => 1_000_000_000,
        b"m" => 60_000_000_000,
        b"h" => 3_600_000_000_000,
        b"d" => 86_400_000_000_000,
        _ => return None,
    })
}

fn up_to_the_millisecond(nanos: u128) -> Duration {
    // What does not fit is longer than the longest. A division of 128 bits takes longer than all the rest.
    let millis = u64::try_from(nanos).map_or(u64::MAX, |nanos| nanos.div_ceil(1_000_000));
    Duration::from_millis(millis).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_unit_counts() {
        for (text, millis) in [
            ("0", 0),
            ("0s", 0),
            ("1s", 1_000),
            ("6m0s", 360_000),
            ("1h2m3.5s", 3_723_500),
            ("2m59.56s", 179_560),
            ("120ms", 120),
            ("7.66s", 7_660),
            ("34.074824224s", 34_075),
            ("1ns", 1),
            ("1000000ns", 1),
            ("1000us", 1),
            ("1500us", 2),
            ("1500µs", 2),
            ("1500μs", 2),
            ("1d2h", 93_600_000),
            ("1.5h", 5_400_000),
            ("99999999999999999999999s", 2_147_483_648_000),
            ("0.0000000000000000000000001s", 1),
            ("1.0000000000000000000s", 1_000),
            ("1.0000000000000000001s", 1_001),
        ] {
            assert_eq!(go_duration(text.as_bytes()), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "", "5", "s", "-1s", "+1s", "1 s", "1s ", "1S", "1.s", ".5s", "1.2.3s", "1w", "inf", "1e3s",
            "1s2",
        ] {
            assert_eq!(go_duration(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_within_bounds(text: Vec<u8>) {
            prop_assert!(go_duration(&text).is_none_or(|duration| duration <= LONGEST));
        }

        #[test]
        fn parts_add_up(h in 0..100_u64, m in 0..60_u64, s in 0..60_u64, ms in 0..1000_u64) {
            let text = format!("{h}h{m}m{s}.{ms:03}s");
            let expected = [(h, 3_600_000), (m, 60_000), (s, 1_000), (ms, 1)]
                .into_iter()
                .map(|(number, millis)| Duration::from_millis(number).saturating_mul(millis))
                .sum();
            prop_assert_eq!(go_duration(text.as_bytes()), Some(expected));
        }
    }
}
