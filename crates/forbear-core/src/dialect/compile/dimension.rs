use super::in_head;
use super::place::{header_name, values};
use super::rules::{Dimension, Field, Told};
use crate::dialect::InvalidDialect;
use crate::dialect::words::{self, Form, Reader};

pub(super) fn dimension(words: &words::Dimension, key: &str) -> Result<Dimension, InvalidDialect> {
    let wrong = |part: &str, value: &str, allowed: &str| {
        Err(InvalidDialect::new(format!("{key}.{part}"), value, allowed))
    };
    let name = values(&words.name, &format!("{key}.name"))?;
    let told = match (&words.remaining, words.reader) {
        (Some(remaining), None) => fields(words, remaining, key)?,
        (None, Some(reader)) => {
            let alone = [
                ("limit", words.limit.is_some()),
                ("reset", words.reset.is_some()),
                ("unit", words.unit.is_some()),
                ("policy", words.policy.is_some()),
            ];
            if let Some((part, _)) = alone.iter().find(|(_, given)| *given) {
                return wrong(part, "given", "goes with `remaining`; a `reader` finds it by itself");
            }
            match (reader, words.header.as_deref()) {
                (Reader::ShopifyCost, None | Some("")) => Told::Reader(reader, Field::Nowhere),
                (Reader::ShopifyCost, Some(header)) => {
                    return wrong("header", header, "is not read: `shopify-cost` stands in the body");
                }
                (_, Some(header)) => Told::Reader(reader, field(header, &format!("{key}.header"))?),
                (_, None) => return wrong("header", "", "is missing: say which header it reads"),
            }
        }
        (Some(_), Some(_)) => {
            return Err(InvalidDialect::new(key, "both", "give `remaining`, or `reader` with `header`"));
        }
        (None, None) => {
            return Err(InvalidDialect::new(
                key,
                "neither",
                "give `remaining`, the header that says what is left, or `reader` with `header`",
            ));
        }
    };
    let in_body = matches!(told, Told::Reader(Reader::ShopifyCost, _));
    let name = if in_body { name } else { in_head(name, &format!("{key}.name"))? };
    Ok(Dimension { name, told })
}

fn fields(words: &words::Dimension, remaining: &str, key: &str) -> Result<Told, InvalidDialect> {
    let wrong = |part: &str, value: &str, allowed: &str| {
        Err(InvalidDialect::new(format!("{key}.{part}"), value, allowed))
    };
    let field = |name: &str, part: &str| field(name, &format!("{key}.{part}"));
    if let Some(header) = &words.header {
        return wrong("header", header, "goes with `reader`, not with `remaining`");
    }
    if words.unit.is_some() && words.reset.is_none() {
        return wrong("unit", "given", "is that of `reset`, which is missing");
    }
    let remaining = field(remaining, "remaining")?;
    let has_hole = matches!(remaining, Field::Pattern { .. });
    for (part, name) in [("limit", &words.limit), ("reset", &words.reset)] {
        if let Some(name) = name.as_ref().filter(|name| !has_hole && name.contains("{}")) {
            return wrong(
                part,
                name,
                "has `{}`, which stands for a word that only `remaining` can find: write it there too",
            );
        }
    }
    if has_hole && words.policy.is_some() {
        return wrong(
            "policy",
            "given",
            "has no meaning beside `{}`, which is the name: leave one of them out",
        );
    }
    if has_hole && !words.name.0.is_empty() {
        return wrong(
            "name",
            "given",
            "has no meaning beside `{}`, which is the name: leave one of them out",
        );
    }
    let unit = words.unit.unwrap_or(Form::Reset);
    Ok(Told::Fields {
        remaining,
        limit: words.limit.as_deref().map(|name| field(name, "limit")).transpose()?,
        reset: words.reset.as_deref().map(|name| Ok((field(name, "reset")?, unit))).transpose()?,
        policy: words
            .policy
            .as_deref()
            .map(|name| header_name(name, &format!("{key}.policy")))
            .transpose()?,
    })
}

fn field(name: &str, key: &str) -> Result<Field, InvalidDialect> {
    let Some((before, behind)) = name.split_once("{}") else {
        return header_name(name, key).map(Field::Named);
    };
    if before.is_empty() && behind.is_empty() {
        return Err(InvalidDialect::new(key, name, "is every header: write what stands around `{}`"));
    }
    // With something in the hole it must be a name; compared in lower case, as header names are.
    header_name(&format!("{before}x{behind}"), key)
        .map_err(|wrong| InvalidDialect { value: name.to_owned(), ..wrong })?;
    Ok(Field::Pattern {
        before: before.to_ascii_lowercase().into(),
        behind: behind.to_ascii_lowercase().into(),
    })
}
