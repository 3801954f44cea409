//! Where in a dialect's file a key stands.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line, counted from 1, of the key at `path`, such as `rule[1].when[0].json`; of what of it there is, where the
/// mistake is that it is missing. `None` where there is nothing of it, or the text is no TOML.
pub(super) fn line_of(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut at = None;
    let mut table = Some(root.get_ref());
    for segment in path.split('.') {
        let mut parts = segment.split('[');
        let name = parts.next()?;
        let Some((key, mut value)) = table.and_then(|table| entry(table, name)) else { break };
        at = Some(key);
        for index in parts {
            // A list of one may be written without brackets.
            let DeValue::Array(list) = value.get_ref() else { continue };
            let Some(item) =
                index.trim_end_matches(']').parse().ok().and_then(|index: usize| list.get(index))
            else {
                break;
            };
            (at, value) = (Some(item.span().start), item);
        }
        table = value.get_ref().as_table();
    }
    at.map(|at| line_at(text.as_bytes(), at))
}

/// Where the key of this name begins, and its value.
fn entry<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<(usize, &'t Spanned<DeValue<'i>>)> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(key, value)| (key.span().start, value))
}

/// The line, counted from 1, of the byte at `at`.
pub(super) fn line_at(text: &[u8], at: usize) -> usize {
    text.iter().take(at).filter(|byte| **byte == b'\n').count().saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"name = "acme"

[[rule]]
status = 429

[[rule]]
status = [
    403,
    17,
]
when = [
    { header = "x-one" },
    { json = "no pointer" },
]
reason = { json = "alone" }

[[dimension]]
name = "left"
"#;

    #[test]
    fn a_key_has_a_line() {
        for (path, line) in [
            ("name", 1),
            ("rule[0].status", 4),
            ("rule[1].status", 7),
            ("rule[1].when[0].header", 12),
            ("rule[1].when[1].json", 13),
            ("rule[1].reason[0].json", 15),
            ("dimension[0]", 17),
            // What is missing is at what it is missing in.
            ("dimension[0].header", 17),
            ("rule[1].when[1].unit", 13),
        ] {
            assert_eq!(line_of(TEXT, path), Some(line), "{path}");
        }
    }

    #[test]
    fn what_stands_nowhere_has_none() {
        for path in ["", "hosts", "standard", "[0]", ".."] {
            assert_eq!(line_of(TEXT, path), None, "{path}");
        }
        assert_eq!(line_of("= no toml", "name"), None);
    }
}
