//! Foreign text on a terminal.

use std::fmt::Write as _;

/// `text` in one line that moves no cursor, changes no colour and turns no direction: what a terminal would act upon, or
/// would not show, is written as its number.
pub(crate) fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => safe.push(c),
            c => safe.extend(c.escape_debug()),
        }
    }
    safe
}

/// The same for text of several lines, such as an error that shows where it stands.
pub(crate) fn lines(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// JSON with the same characters as `\u` escapes: it means what it meant.
pub(crate) fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let plain = (' '..='~').contains(&c) || (!c.is_ascii() && c.escape_debug().len() == 1);
        if plain {
            safe.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_would_act_upon_is_a_number() {
        assert_eq!(
            shown("a\u{1b}[31mb\r\n\u{9b}c\u{202e}d\u{7f}"),
            r"a\u{1b}[31mb\r\n\u{9b}c\u{202e}d\u{7f}"
        );
        assert_eq!(shown(r#"{"it's": "C:\ä"}"#), r#"{"it's": "C:\ä"}"#);
        assert_eq!(lines("one\n\ttwo"), "one\n\\ttwo");
    }

    #[test]
    fn json_escapes_what_a_terminal_would_act_upon() {
        assert_eq!(json("\"\u{7f}\u{9b}\u{202e}\u{e0001}\u{e4}\""), r#""\u007f\u009b\u202e\udb40\udc01ä""#);
    }

    proptest! {
        #[test]
        fn any_text_is_one_line_without_controls(text: Vec<char>) {
            let text = String::from_iter(text);
            prop_assert!(!shown(&text).contains(char::is_control));
        }

        #[test]
        fn json_means_what_it_meant(text: Vec<char>) {
            let text = String::from_iter(text);
            let plain = serde_json::to_string(&text).unwrap();
            let safe = json(&plain);
            prop_assert!(!safe.contains(char::is_control));
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
    }
}
