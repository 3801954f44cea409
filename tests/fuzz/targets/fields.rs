//! What vendors tell of what is left: `RateLimit` in all its forms, the `x-ratelimit-*` families, and what some write in
//! ways of their own.

use forbear_core::dialect::Dialect;
use http::header::{HeaderMap, HeaderName};

use crate::targets::holds::{answer, essence, wall};
use crate::targets::message::{Message, headers};

/// Any lines, by the standard dialect and a vendor's: in which order the fields stand is irrelevant.
pub fn target(input: &[u8]) {
    let message = Message::read(input);
    let (there, back) = (message.headers(), by_field_from_the_end(&message));
    for dialect in [Dialect::standard(), message.dialect()] {
        let reading = answer(&dialect, message.status, &there, b"");
        let other = dialect.read_head(message.status, &back, wall());
        assert_eq!(essence(&other), essence(&reading), "{}: the order of fields counts", dialect.name());
    }
}

/// The fields in the other order, the lines of each in their own.
fn by_field_from_the_end(message: &Message<'_>) -> HeaderMap {
    let mut names: Vec<&HeaderName> = Vec::new();
    for (name, _) in message.lines.iter().rev() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let lines = |wanted| message.lines.iter().filter(move |(name, _)| name == wanted);
    headers(names.into_iter().flat_map(lines))
}
