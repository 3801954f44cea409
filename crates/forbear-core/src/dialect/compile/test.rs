use super::rules::Test;
use crate::dialect::InvalidDialect;
use crate::dialect::words::Keys;

/// The test of a condition; without one it asks whether there is something.
pub(super) fn test(keys: &Keys, key: &str) -> Result<Test, InvalidDialect> {
    let lists = [("is", &keys.is), ("starts-with", &keys.starts_with), ("contains", &keys.contains)];
    let given = lists.iter().filter_map(|(name, list)| Some((*name, list.as_ref()?))).collect::<Vec<_>>();
    let others =
        [keys.absent, keys.unreadable, keys.at_most.is_some()].iter().filter(|given| **given).count();
    if given.len().saturating_add(others) > 1 {
        return Err(InvalidDialect::new(
            key,
            "several tests",
            "give just one; further conditions go into the list",
        ));
    }
    if keys.unit.is_some() && !keys.unreadable {
        return Err(InvalidDialect::new(
            format!("{key}.unit"),
            "a unit",
            "has a meaning only beside `unreadable = true`",
        ));
    }
    if keys.text {
        part_of_text(keys, key)?;
    }
    if keys.absent {
        return Ok(Test::Absent);
    }
    if keys.unreadable {
        return keys.unit.map(Test::Unreadable).ok_or_else(|| {
            InvalidDialect::new(format!("{key}.unit"), "", "is missing: say what it cannot be read in")
        });
    }
    if let Some(number) = keys.at_most {
        if !number.is_finite() {
            return Err(InvalidDialect::new(
                format!("{key}.at-most"),
                number.to_string(),
                "is no number to compare with: give one such as 0",
            ));
        }
        return Ok(Test::AtMost(number));
    }
    let Some((name, words)) = given.first() else {
        return Ok(Test::Present);
    };
    if words.0.is_empty() {
        return Err(InvalidDialect::new(
            format!("{key}.{name}"),
            "[]",
            "is met by nothing: give the words, or leave the key out to ask whether there is something",
        ));
    }
    if *name != "is" && words.0.iter().any(String::is_empty) {
        return Err(InvalidDialect::new(
            format!("{key}.{name}"),
            "",
            "is met by everything: give the words, or leave the key out to ask whether there is something",
        ));
    }
    let words = words.0.iter().map(|word| word.as_str().into()).collect();
    Ok(match *name {
        "is" => Test::Is(words),
        "starts-with" => Test::StartsWith(words),
        _ => Test::Contains(words),
    })
}

/// Refuses a condition that any page would meet which has the words somewhere in it.
fn part_of_text(keys: &Keys, key: &str) -> Result<(), InvalidDialect> {
    let searches = [
        ("contains", keys.contains.is_some()),
        ("after", keys.after.is_some()),
        ("last-of", keys.last_of.is_some()),
    ];
    match searches.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(InvalidDialect::new(
            format!("{key}.{name}"),
            "a test of the whole text",
            "would be met by any page that writes about limits: use `is` or `starts-with`, or a title, a pointer, a path",
        )),
        None => Ok(()),
    }
}
