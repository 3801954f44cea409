use std::time::Duration;

use http::HeaderName;

use crate::grpc_timeout::digits;

/// A request header that says how long its sender waits for the answer, and in which unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlineHeader {
    pub(super) name: HeaderName,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Milliseconds,
    Seconds,
}

impl DeadlineHeader {
    /// Digits, in milliseconds: `300`.
    #[must_use]
    pub const fn milliseconds(name: HeaderName) -> Self {
        Self { name, unit: Unit::Milliseconds }
    }

    /// Digits with or without a fraction, in seconds: `2`, `0.3`.
    #[must_use]
    pub const fn seconds(name: HeaderName) -> Self {
        Self { name, unit: Unit::Seconds }
    }

    /// What a value says; `None` where it is not of this form.
    pub(super) fn read(&self, value: &[u8]) -> Option<Duration> {
        let value = value.trim_ascii();
        match self.unit {
            Unit::Milliseconds => Some(Duration::from_millis(digits(value)?)),
            Unit::Seconds => {
                let mut parts = value.splitn(2, |byte| *byte == b'.');
                let whole = digits(parts.next()?)?;
                let fraction = parts.next().map_or(Some(0), nanos)?;
                Some(Duration::new(whole, fraction))
            }
        }
    }
}

/// `x-request-timeout-ms`, in milliseconds.
impl Default for DeadlineHeader {
    fn default() -> Self {
        Self::milliseconds(HeaderName::from_static("x-request-timeout-ms"))
    }
}

/// The digits behind a decimal point; what is smaller than a nanosecond is left out.
fn nanos(fraction: &[u8]) -> Option<u32> {
    digits(fraction)?;
    let nine = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    Some(nine.fold(0, |so_far: u32, byte| so_far * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_says_nothing_and_what_is_too_large_is_long() {
        let name = HeaderName::from_static("x-deadline");
        let millis = |text: &str| DeadlineHeader::milliseconds(name.clone()).read(text.as_bytes());
        let seconds = |text: &str| DeadlineHeader::seconds(name.clone()).read(text.as_bytes());
        for text in [
            "", " ", "-1", "+1", "NaN", "inf", "1e3", "0x10", "1,2", "1 2", ".", "1.", ".5", "1.-5", "1.5.5",
            "٣",
        ] {
            assert_eq!((millis(text), seconds(text)), (None, None), "{text:?}");
        }
        assert_eq!((millis("1.5"), seconds("1.5")), (None, Some(Duration::from_millis(1500))));
        assert_eq!((millis("300"), seconds(" 0.3\t")), (Some(Duration::from_millis(300)), millis("300")));
        assert_eq!(seconds("0.0000000019"), Some(Duration::from_nanos(1)));
        let huge = "2".repeat(4000);
        assert_eq!(millis(&huge), Some(Duration::from_millis(u64::MAX)));
        assert_eq!(seconds(&huge), Some(Duration::from_secs(u64::MAX)));
        assert_eq!(seconds(&format!("{huge}.{huge}")).map(|long| long.as_secs()), Some(u64::MAX));
    }
}
