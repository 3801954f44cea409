//! `grpc-timeout`: how long a gRPC client waits for the whole call (gRPC over HTTP2, `Timeout`).

use std::time::Duration;

/// The value of `grpc-timeout`.
pub(crate) fn read(value: &[u8]) -> Option<Duration> {
    let (unit, count) = value.split_last()?;
    if count.len() > 8 {
        return None;
    }
    let count = digits(count)?;
    Some(match unit {
        b'H' => Duration::from_secs(count.saturating_mul(3600)),
        b'M' => Duration::from_secs(count.saturating_mul(60)),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

/// At least one digit and nothing else; what is too large to be held is as large as can be.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |so_far, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(so_far.saturating_mul(10).saturating_add(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_timeouts_are_read_as_the_specification_has_them() {
        let hours = |count: u64| Some(Duration::from_secs(count * 3600));
        for (text, expected) in [
            ("1H", hours(1)),
            ("99999999H", hours(99_999_999)),
            ("2M", Some(Duration::from_secs(120))),
            ("10S", Some(Duration::from_secs(10))),
            ("00000300m", Some(Duration::from_millis(300))),
            ("7u", Some(Duration::from_micros(7))),
            ("9n", Some(Duration::from_nanos(9))),
            ("0S", Some(Duration::ZERO)),
            ("", None),
            ("S", None),
            ("10", None),
            ("100000000S", None),
            ("1s", None),
            ("1h", None),
            ("1 S", None),
            (" 1S", None),
            ("1S ", None),
            ("+1S", None),
            ("-1S", None),
            ("1.5S", None),
            ("1e3S", None),
            ("1S,2S", None),
            ("1mS", None),
            ("\u{661}S", None),
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text:?}");
        }
    }
}
