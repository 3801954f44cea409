use http::header::HeaderName;

use super::rules::{At, Condition, Path, Pointer, Segment, Value, Wait};
use super::test::test;
use crate::dialect::InvalidDialect;
use crate::dialect::words::{Keys, List, Place};

const PLACES: &str = "one of `header`, `json`, `header` with `json`, `xml`, `title = true`, `text = true`";

pub(super) fn values(places: &List<Place>, key: &str) -> Result<Box<[Value]>, InvalidDialect> {
    each(places, key, |place, key| {
        if place.constant.as_deref() == Some("") {
            return Err(InvalidDialect::new(key, "", "is empty: give the word, or leave the key out"));
        }
        let value = value(place, key)?;
        if has_test(&place.keys) {
            return Err(InvalidDialect::new(key, "a test", "belongs to a condition in `when`"));
        }
        if place.keys.unit.is_some() {
            return Err(InvalidDialect::new(
                format!("{key}.unit"),
                "a unit",
                "belongs to a delay; leave it out",
            ));
        }
        Ok(value)
    })
}

pub(super) fn waits(places: &List<Place>, key: &str) -> Result<Box<[Wait]>, InvalidDialect> {
    each(places, key, |place, key| {
        match place.constant.as_deref() {
            Some("retry-after") => return Ok(Wait::RetryAfter),
            Some("dimension") => return Ok(Wait::Dimension),
            Some(other) => {
                return Err(InvalidDialect::new(
                    key,
                    other,
                    "use `retry-after`, `dimension`, or a place with a unit such as { header = \"x-wait\", unit = \"seconds\" }",
                ));
            }
            None => {}
        }
        let value = value(place, key)?;
        if has_test(&place.keys) {
            return Err(InvalidDialect::new(key, "a test", "belongs to a condition in `when`"));
        }
        if let Some(prefix) = &place.keys.prefix {
            return Err(InvalidDialect::new(
                format!("{key}.prefix"),
                prefix,
                "belongs to a name; a delay is what stands there",
            ));
        }
        let Some(unit) = place.keys.unit else {
            return Err(InvalidDialect::new(
                format!("{key}.unit"),
                "",
                "is missing: name one, such as \"seconds\", \"milliseconds\", \"epoch-seconds\", \"rfc3339\" or \"go-duration\"",
            ));
        };
        Ok(Wait::Value(value, unit))
    })
}

pub(super) fn conditions(places: &List<Place>, key: &str) -> Result<Box<[Condition]>, InvalidDialect> {
    each(places, key, |place, key| {
        if let Some(constant) = &place.constant {
            return Err(InvalidDialect::new(key, constant, format!("is always the same; use {PLACES}")));
        }
        Ok(Condition { value: value(place, key)?, test: test(&place.keys, key)? })
    })
}

fn each<T>(
    places: &List<Place>,
    key: &str,
    compile: impl Fn(&Place, &str) -> Result<T, InvalidDialect>,
) -> Result<Box<[T]>, InvalidDialect> {
    places.0.iter().enumerate().map(|(at, place)| compile(place, &format!("{key}[{at}]"))).collect()
}

fn value(place: &Place, key: &str) -> Result<Value, InvalidDialect> {
    let keys = &place.keys;
    Ok(Value {
        place: at(place, key)?,
        after: words(keys.after.as_ref(), key, "after")?,
        up_to: words(keys.up_to.as_ref(), key, "up-to")?,
        last_of: words(keys.last_of.as_ref(), key, "last-of")?,
        prefix: words(keys.prefix.as_ref(), key, "prefix")?,
        lower_case: keys.lower_case,
    })
}

fn words(words: Option<&String>, key: &str, name: &str) -> Result<Option<Box<str>>, InvalidDialect> {
    match words {
        Some(words) if words.is_empty() => Err(InvalidDialect::new(
            format!("{key}.{name}"),
            "",
            "is empty: give the words, or leave the key out",
        )),
        words => Ok(words.map(|words| words.as_str().into())),
    }
}

fn at(place: &Place, key: &str) -> Result<At, InvalidDialect> {
    if let Some(constant) = &place.constant {
        return Ok(At::Constant(constant.as_str().into()));
    }
    let Keys { header, json, xml, title, text, .. } = &place.keys;
    Ok(match (header, json, xml, title, text) {
        (Some(name), None, None, false, false) => At::Header(header_name(name, &format!("{key}.header"))?),
        (None, Some(pointer), None, false, false) => At::Json(json_pointer(pointer, &format!("{key}.json"))?),
        (Some(name), Some(pointer), None, false, false) => At::JsonInHeader(
            header_name(name, &format!("{key}.header"))?,
            json_pointer(pointer, &format!("{key}.json"))?,
        ),
        (None, None, Some(path), false, false) => At::Xml(xml_path(path, &format!("{key}.xml"))?),
        (None, None, None, true, false) => At::Title,
        (None, None, None, false, true) => At::Text,
        (None, None, None, false, false) => {
            return Err(InvalidDialect::new(key, "", format!("says no place: give {PLACES}")));
        }
        _ => return Err(InvalidDialect::new(key, "several places", format!("give just {PLACES}"))),
    })
}

pub(super) fn header_name(name: &str, key: &str) -> Result<HeaderName, InvalidDialect> {
    HeaderName::try_from(name).map_err(|_| {
        InvalidDialect::new(
            key,
            name,
            "is no header name: use letters, digits and dashes, such as `x-ratelimit-reset`",
        )
    })
}

fn json_pointer(pointer: &str, key: &str) -> Result<Pointer, InvalidDialect> {
    let Some(segments) = pointer.strip_prefix('/') else {
        return Err(InvalidDialect::new(
            key,
            pointer,
            "is no JSON pointer: it starts with `/`, such as `/error/code`",
        ));
    };
    // RFC 6901 section 3.
    if segments.split('~').skip(1).any(|behind| !behind.starts_with(['0', '1'])) {
        return Err(InvalidDialect::new(
            key,
            pointer,
            "is no JSON pointer: in a name `~` is written `~0`, and `/` is written `~1`",
        ));
    }
    let segments = segments
        .split('/')
        .map(|segment| match segment {
            "*" => Segment::Any,
            // RFC 6901 section 4: in this order.
            key => Segment::Key(key.replace("~1", "/").replace("~0", "~").into()),
        })
        .collect();
    Ok(Pointer { text: pointer.into(), segments })
}

fn xml_path(path: &str, key: &str) -> Result<Path, InvalidDialect> {
    let (elements, attribute) = match path.split_once("/@") {
        Some((elements, attribute)) => (elements, Some(attribute)),
        None => (path, None),
    };
    let wrong =
        |name: &str| name.is_empty() || name.contains(|c: char| c.is_whitespace() || "<>*@/".contains(c));
    if elements.split('/').any(wrong) || attribute.is_some_and(wrong) {
        return Err(InvalidDialect::new(
            key,
            path,
            "is no path of elements: use names with `/` between them, such as `Error/Code`, or `error/@code` for an attribute",
        ));
    }
    Ok(Path {
        text: path.into(),
        names: elements.split('/').map(Into::into).collect(),
        attribute: attribute.map(Into::into),
    })
}

fn has_test(keys: &Keys) -> bool {
    keys.absent
        || keys.unreadable
        || keys.at_most.is_some()
        || [&keys.is, &keys.starts_with, &keys.contains].into_iter().any(Option::is_some)
}
