//! Dialects from any text.

use forbear_core::dialect::Dialect;

use crate::targets::holds::answer;
use crate::targets::message::Message;

/// What divides the dialect from the answer that it reads.
pub const DIVIDER: &str = "\n%%\n";

/// A text is refused with words, or it is a dialect that reads whatever comes.
pub fn target(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (text, message) = input.split_once(DIVIDER).unwrap_or((&input, ""));
    match Dialect::from_toml(text) {
        Ok(dialect) => {
            let message = Message::read(message.as_bytes());
            answer(&dialect, message.status, &message.headers(), message.body);
        }
        Err(error) => {
            assert!(!error.allowed.is_empty(), "{error}");
        }
    }
}
