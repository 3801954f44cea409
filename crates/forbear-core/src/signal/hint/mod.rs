//! Total readers of advertised delays.
//!
//! Nothing here panics, fails or overflows. What cannot be read is `None`; what is too long saturates; what falls
//! between two milliseconds is rounded up, so that no wait is shorter than the vendor asked for. Every reader
//! takes its unit from its name and gives a [`Duration`](std::time::Duration), so no caller can mix units up.
//!
//! | reader | reads | longest |
//! |---|---|---|
//! | [`seconds`], [`milliseconds`] | `120`, `00120`, `1.5` | 2³¹ s |
//! | [`http_date`] | the three forms of RFC 9110 section 5.6.7, and their usual misspellings | the end of year 9999 |
//! | [`rfc3339`] | RFC 3339, and what leaves out seconds or zone | the end of year 9999 |
//! | [`go_duration`] | `1h2m3.5s`, `34.07s` | 2³¹ s |
//! | [`phrase`] | `9 minutes` in a sentence | 2³¹ s |
//!
//! A [`Form`] is one of them, or a choice between some.

mod date;
mod decimal;
mod form;
mod go_duration;
mod list;
mod phrase;
mod receipt;
mod rfc3339;
mod unix_time;

use http::HeaderValue;
use http::header::{GetAll, HeaderName};

pub(crate) use date::http_date;
pub(crate) use decimal::{milliseconds, seconds, since_epoch};
pub use form::Form;
pub(crate) use go_duration::go_duration;
pub(crate) use phrase::phrase;
pub(crate) use receipt::Receipt;
pub(crate) use rfc3339::rfc3339;
pub(crate) use unix_time::UnixTime;

use super::Delay;

/// What the lines of one field say together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hint<'h> {
    /// The longest delay that can be read; `None` where none can.
    pub(crate) delay: Option<Delay>,
    /// The line it was read from; the first line where none can be read.
    pub(crate) line: &'h HeaderValue,
}

/// The longest delay in the lines of `field`; `None` where the field is absent. A line, or an element of a folded
/// line, that cannot be read hides no other.
pub(crate) fn read<'h>(field: &HeaderName, form: Form, receipt: &Receipt<'h>) -> Option<Hint<'h>> {
    let lines = receipt.headers().get_all(field);
    lines
        .iter()
        .map(|line| Hint {
            delay: list::longest(line.as_bytes(), |element| form.read(element, receipt)),
            line,
        })
        // `None` orders below every delay. The earlier line stays where two say the same.
        .reduce(|kept, next| if next.delay > kept.delay { next } else { kept })
}

/// `bytes` without optional white space around them: spaces and tabs, and nothing else (RFC 9110 section 5.6.3).
pub(crate) fn trim_ows(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The values of all lines and elements of a field whose lines may be folded with commas, such as `Age`.
pub(crate) fn elements<'h>(lines: &GetAll<'h, HeaderValue>) -> impl Iterator<Item = &'h [u8]> + use<'h> {
    lines.iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(trim_ows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_spaces_and_tabs_are_optional_white_space() {
        assert_eq!(trim_ows(b" \t 120 \t"), b"120");
        assert_eq!(trim_ows(b"\t \t"), b"");
        assert_eq!(trim_ows("120\u{a0}".as_bytes()), "120\u{a0}".as_bytes());
        assert_eq!(trim_ows(b"\x0b120\x0c"), b"\x0b120\x0c");
    }
    #[test]
    fn of_lines_that_say_the_same_the_first_is_named() {
        for (lines, named) in [(["5", "05"], "5"), (["05", "5"], "05"), (["4", "5"], "5"), (["x", "y"], "x")]
        {
            let mut headers = http::HeaderMap::new();
            for line in lines {
                headers.append("retry-after", HeaderValue::from_static(line));
            }
            let receipt = Receipt::new(&headers, std::time::SystemTime::UNIX_EPOCH);
            let hint = read(&http::header::RETRY_AFTER, Form::RetryAfter, &receipt).unwrap();
            assert_eq!(hint.line, named, "{lines:?}");
        }
    }
}
