use std::time::Duration;

use serde::Deserialize;

use super::{
    Delay, Receipt, UnixTime, go_duration, milliseconds, phrase, rfc3339, seconds, since_epoch, trim_ows,
};

/// How a value phrases a delay, named as a dialect's `unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// Seconds from now: `120`, `1.5`.
    Seconds,
    /// Milliseconds from now.
    Milliseconds,
    /// Minutes from now.
    Minutes,
    /// Hours from now.
    Hours,
    /// A Unix time in seconds.
    EpochSeconds,
    /// A Unix time in milliseconds.
    EpochMilliseconds,
    /// A time by RFC 3339, also without seconds or zone.
    Rfc3339,
    /// An HTTP date (RFC 9110 section 5.6.7).
    HttpDate,
    /// Seconds from now, or an HTTP date: `Retry-After` (RFC 9110 section 10.2.3).
    RetryAfter,
    /// A duration as Go prints it: `1h2m3.5s`.
    GoDuration,
    /// A number and its unit in English: `9 minutes`.
    Phrase,
    /// What a `…-reset` header holds where nobody says what: a number is a Unix time in milliseconds from 10¹² up, in
    /// seconds from 10⁹ up, and seconds from now below; else one of the dates, or a Go duration.
    Reset,
}

impl Form {
    /// The delay that `text` phrases; white space around it is no part of it.
    pub(crate) fn read(self, text: &[u8], receipt: &Receipt<'_>) -> Option<Delay> {
        let text = trim_ows(text);
        let from_now = |delay: Option<Duration>| delay.map(|delay| receipt.relative(delay));
        let at = |time: Option<UnixTime>| time.map(|time| receipt.until_time(time));
        match self {
            Self::Seconds => from_now(seconds(text)),
            Self::Milliseconds => from_now(milliseconds(text)),
            Self::Minutes => from_now(seconds(text).map(|minutes| minutes.saturating_mul(60))),
            Self::Hours => from_now(seconds(text).map(|hours| hours.saturating_mul(3600))),
            Self::EpochSeconds => at(since_epoch(text, 3).map(UnixTime::from_millis)),
            Self::EpochMilliseconds => at(since_epoch(text, 0).map(UnixTime::from_millis)),
            Self::Rfc3339 => at(rfc3339(text)),
            Self::HttpDate => receipt.until(text),
            Self::RetryAfter => Self::Seconds.read(text, receipt).or_else(|| receipt.until(text)),
            Self::GoDuration => from_now(go_duration(text)),
            Self::Phrase => from_now(phrase(text)),
            Self::Reset => {
                let number = match since_epoch(text, 0) {
                    None => [Self::Rfc3339, Self::HttpDate, Self::GoDuration].as_slice(),
                    Some(1_000_000_000_000..) => &[Self::EpochMilliseconds],
                    Some(1_000_000_000..) => &[Self::EpochSeconds],
                    Some(_) => &[Self::Seconds],
                };
                number.iter().find_map(|form| form.read(text, receipt))
            }
        }
    }

    /// The delay that `text` begins with, where it goes on with other words: `1795997100000. Please wait`.
    pub(crate) fn read_leading(self, text: &[u8], receipt: &Receipt<'_>) -> Option<Delay> {
        let belongs: fn(&u8) -> bool = match self {
            Self::Phrase | Self::HttpDate | Self::RetryAfter => return self.read(text, receipt),
            Self::Rfc3339 | Self::Reset => |byte| byte.is_ascii_alphanumeric() || b".:+-".contains(byte),
            Self::GoDuration => |byte| byte.is_ascii_alphanumeric() || *byte == b'.' || !byte.is_ascii(),
            _ => |byte| byte.is_ascii_digit() || *byte == b'.',
        };
        let length = text.iter().take_while(|byte| belongs(byte)).count();
        let token = text.get(..length)?;
        // The full stop of a sentence.
        self.read(token.strip_suffix(b".").unwrap_or(token), receipt)
    }

    /// Whether a folded line of this form may be cut at its commas.
    pub(crate) fn has_no_comma(self) -> bool {
        !matches!(self, Self::HttpDate | Self::RetryAfter | Self::Phrase)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use http::HeaderMap;

    use super::*;

    fn millis(delay: Option<Delay>) -> Option<u128> {
        delay.map(|delay| delay.duration.as_millis())
    }

    fn received(read: impl Fn(&Receipt<'_>)) {
        let wall = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(1_795_996_800)).unwrap();
        read(&Receipt::new(&HeaderMap::new(), wall));
    }

    #[test]
    fn each_form_has_its_own_unit() {
        received(|receipt| {
            for (form, text, expected) in [
                (Form::Seconds, "1.5", 1_500),
                (Form::Milliseconds, "1.5", 2),
                (Form::Minutes, "19", 1_140_000),
                (Form::Hours, "2", 7_200_000),
                (Form::EpochSeconds, "1795996809", 9_000),
                (Form::EpochSeconds, "1795996864.570", 64_570),
                (Form::EpochSeconds, "0", 0),
                (Form::EpochSeconds, "4000000000", 2_204_003_200_000),
                (Form::EpochMilliseconds, "1795996808429", 8_429),
                (Form::Rfc3339, "2026-11-30T00:02Z", 120_000),
                (Form::HttpDate, "Mon, 30 Nov 2026 00:00:45 GMT", 45_000),
                (Form::RetryAfter, "Mon, 30 Nov 2026 00:00:45 GMT", 45_000),
                (Form::RetryAfter, " 45\t", 45_000),
                (Form::GoDuration, "1m1.5s", 61_500),
                (Form::Phrase, "9 minutes.", 540_000),
                (Form::Reset, "283", 283_000),
                (Form::Reset, "12.5", 12_500),
                (Form::Reset, "999999999", 999_999_999_000),
                (Form::Reset, "1795998600", 1_800_000),
                (Form::Reset, "1795996808429", 8_429),
                (Form::Reset, "2026-11-30 00:00:41", 41_000),
                (Form::Reset, "Mon, 30 Nov 2026 00:00:45 GMT", 45_000),
                (Form::Reset, "6m0s", 360_000),
            ] {
                assert_eq!(millis(form.read(text.as_bytes(), receipt)), Some(expected), "{form:?} {text}");
            }
            for (form, text) in [
                (Form::Seconds, "-1"),
                (Form::EpochSeconds, "2026-11-30T00:02Z"),
                (Form::Reset, "Mon Nov 30 2026 01:00:02 GMT+0100 (Central European Standard Time)"),
                (Form::Reset, "soon"),
                (Form::HttpDate, "45"),
            ] {
                assert_eq!(form.read(text.as_bytes(), receipt), None, "{form:?} {text}");
            }
        });
    }

    #[test]
    fn a_delay_at_the_head_of_a_sentence_is_read() {
        received(|receipt| {
            for (form, text, expected) in [
                (Form::EpochMilliseconds, "1795997100000. Please use the websocket.", 300_000),
                (Form::EpochSeconds, "1795996809", 9_000),
                (Form::GoDuration, "41.724s.", 41_724),
                (Form::GoDuration, "120ms, or sooner", 120),
                (Form::Seconds, "17 seconds.", 17_000),
                (Form::Rfc3339, "2026-11-30T00:02:00Z.", 120_000),
                (Form::Phrase, "9 minutes before", 540_000),
            ] {
                assert_eq!(
                    millis(form.read_leading(text.as_bytes(), receipt)),
                    Some(expected),
                    "{form:?} {text}"
                );
            }
            assert_eq!(Form::Seconds.read_leading(b"in 17 seconds", receipt), None);
            assert_eq!(Form::Seconds.read_leading(b"", receipt), None);
        });
    }

    #[test]
    fn what_is_too_long_saturates() {
        received(|receipt| {
            let digits = b"9".repeat(40);
            for form in [Form::Seconds, Form::Milliseconds, Form::Minutes, Form::Hours] {
                assert_eq!(millis(form.read(&digits, receipt)), Some(2_147_483_648_000), "{form:?}");
            }
            for form in [Form::EpochSeconds, Form::EpochMilliseconds, Form::Reset] {
                assert!(form.read(&digits, receipt).is_some(), "{form:?}");
            }
        });
    }
}
