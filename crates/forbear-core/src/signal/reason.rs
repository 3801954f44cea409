use std::borrow::Cow;
use std::fmt;

use http::StatusCode;
use serde::{Serialize, Serializer};

/// A short code that says why a limit was met: `retry-after`, `status-429`, `inflight_limit`.
///
/// Made from a vendor's words it holds no control characters and at most [`Reason::MAX`] bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Reason(Cow<'static, str>);

/// The codes that tell of too much in flight, beside all that end in `-concurrency`.
const CONCURRENCY: [&str; 4] =
    ["inflight_limit", "oldest_inflight_age", "router_inflight_limit", "durable_object_overloaded"];

impl Reason {
    /// The most bytes a reason holds.
    pub const MAX: usize = 64;

    /// A reason known when the program is built.
    #[must_use]
    pub const fn from_static(code: &'static str) -> Self {
        Self(Cow::Borrowed(code))
    }

    /// A reason in a vendor's words: control characters are dropped, the rest is cut at [`Reason::MAX`] bytes
    /// between two characters. `None` where nothing is left.
    #[must_use]
    pub fn cleaned(words: &str) -> Option<Self> {
        let code = clean(words, Self::MAX);
        (!code.is_empty()).then_some(Self(Cow::Owned(code)))
    }

    /// A reason in words that are [clean] and short enough already.
    pub(crate) fn of_clean(words: String) -> Self {
        Self(Cow::Owned(words))
    }

    /// `status-429` and its like: the reason of a signal that said nothing but its status.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            429 => Self::from_static("status-429"),
            503 => Self::from_static("service-unavailable"),
            529 => Self::from_static("status-529"),
            other => Self(Cow::Owned(format!("status-{other}"))),
        }
    }

    /// Whether it tells of too much in flight: `inflight_limit` and its like, and all that end in `-concurrency`.
    #[must_use]
    pub fn is_concurrency(&self) -> bool {
        CONCURRENCY.contains(&self.as_str()) || self.as_str().ends_with("-concurrency")
    }

    /// The code.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character shows itself where it stands: no control character, nor one that breaks a line, turns the direction of
/// what follows it, or has no width, by which a line in a log can be made to say something else.
pub(crate) fn is_shown(c: char) -> bool {
    let turns_or_hides = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !turns_or_hides
}

/// As `str::trim`, which looks for characters where there is mostly nothing to take away.
pub(crate) fn trim(text: &str) -> &str {
    match text.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => text,
        _ => text.trim(),
    }
}

/// The text of a header's value or a body; what is no UTF-8 in it is replaced.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // The check alone is faster by far than a replacement that replaces nothing.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// `words` without characters that [do not show](is_shown) and outer white space, cut at `most` bytes between two characters.
pub(crate) fn clean(words: &str, most: usize) -> String {
    let words = trim(words);
    // What vendors mostly write needs no cleaning. Without an early end, which the compiler would keep.
    if words.bytes().fold(true, |plain, byte| plain & (b' '..=b'~').contains(&byte)) {
        return words.get(..most).unwrap_or(words).to_owned();
    }
    let mut code = String::with_capacity(words.len().min(most));
    for c in words.chars().filter(|c| is_shown(*c)) {
        if code.len().saturating_add(c.len_utf8()) > most {
            break;
        }
        code.push(c);
    }
    code
}

impl From<&'static str> for Reason {
    fn from(code: &'static str) -> Self {
        Self::from_static(code)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendors_words_are_cleaned_and_cut_between_characters() {
        assert_eq!(Reason::cleaned(" inflight_limit\r\n\u{1b}[31m").unwrap().as_str(), "inflight_limit[31m");
        assert_eq!(Reason::cleaned(&"ä".repeat(40)).unwrap().as_str(), "ä".repeat(32));
        assert_eq!(Reason::cleaned("\u{0}\n"), None);
        // "429 ok" would be read where the vendor sent "429", turned about.
        assert_eq!(
            Reason::cleaned("\u{202e}ko\u{2028} \u{200b}9\u{ad}24\u{feff}").unwrap().as_str(),
            "ko 924"
        );
    }
}
