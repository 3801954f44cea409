//! The delays of the standard dialect, and the clock that they count by.

use forbear_core::dialect::Dialect;
use http::StatusCode;
use http::header::{AGE, DATE, HeaderName, RETRY_AFTER};

use crate::targets::holds::{answer, essence, wall};
use crate::targets::message::{Message, headers, pick};

const NAMES: [HeaderName; 6] = [
    RETRY_AFTER,
    HeaderName::from_static("retry-after-ms"),
    HeaderName::from_static("x-ms-retry-after-ms"),
    HeaderName::from_static("x-amz-retry-after"),
    AGE,
    DATE,
];

/// Any lines of these headers: a 429 and a 529 are limits, a 503 is one with a delay, nothing else is; and the order of the
/// lines is irrelevant.
pub fn target(input: &[u8]) {
    // Another name stands for one of them, so that few inputs are wasted.
    let name = |name: &[u8]| {
        let known = NAMES.into_iter().find(|known| known.as_str().as_bytes() == name);
        known.or_else(|| Some(pick(&NAMES.each_ref(), name).clone()))
    };
    let message = Message::with_names(input, name);
    let (dialect, status) = (Dialect::standard(), message.status);
    let reading = answer(&dialect, status, &message.headers(), b"");
    match status.as_u16() {
        429 | 529 => assert!(reading.signal().is_some()),
        503 => assert!(reading.signal().is_some() || reading.information.is_none()),
        _ => assert!(reading.signal().is_none()),
    }
    let read = |status: StatusCode| {
        let reversed = headers(message.lines.iter().rev());
        essence(&dialect.read_head(status, &reversed, wall()))
    };
    assert_eq!(read(status), essence(&reading), "the order of lines counts");
}
