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

mod date;
mod decimal;
mod list;
mod receipt;
mod unix_time;

use http::HeaderValue;
use http::header::{HeaderMap, HeaderName};

pub(crate) use date::http_date;
pub(crate) use decimal::{milliseconds, seconds};
pub(crate) use receipt::Receipt;
pub(crate) use unix_time::UnixTime;

use super::Delay;

/// How the value of a field phrases a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Milliseconds from now.
    Milliseconds,
    /// Seconds from now, or an HTTP date: `Retry-After` (RFC 9110 section 10.2.3).
    SecondsOrDate,
}

impl Form {
    fn read(self, element: &[u8], receipt: &Receipt<'_>) -> Option<Delay> {
        match self {
            Self::Milliseconds => milliseconds(element).map(|delay| receipt.relative(delay)),
            Self::SecondsOrDate => match seconds(element) {
                Some(delay) => Some(receipt.relative(delay)),
                None => receipt.until(element),
            },
        }
    }
}

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
fn elements<'h>(headers: &'h HeaderMap, field: &HeaderName) -> impl Iterator<Item = &'h [u8]> {
    headers.get_all(field).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(trim_ows)
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
}
