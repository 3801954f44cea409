use std::borrow::Cow;
use std::cell::OnceCell;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::dialect::compile::{Path, Pointer, Segment};
use crate::signal::lossy;

/// The first bytes of a decoded body, taken apart when a rule asks for that, and once.
pub(super) struct Body<'b> {
    bytes: Option<&'b [u8]>,
    json: OnceCell<Option<serde_json::Value>>,
}

impl<'b> Body<'b> {
    pub(super) fn new(bytes: Option<&'b [u8]>) -> Self {
        // A mark of UTF-8 is no part of the text (RFC 8259 section 8.1).
        let bytes = bytes.map(|bytes| bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        Self { bytes, json: OnceCell::new() }
    }

    /// Whether there is none, as while the head alone is read.
    pub(super) fn is_none(&self) -> bool {
        self.bytes.is_none()
    }

    /// The parser refuses what is nested deeper than 128 levels, so the size of the body bounds time, memory and stack.
    /// What is no UTF-8 in a word is replaced, as it is in a header: a message in another charset hides no code beside it.
    pub(super) fn json(&self) -> Option<&serde_json::Value> {
        self.json.get_or_init(|| serde_json::from_str(&lossy(self.bytes?)).ok()).as_ref()
    }

    /// The whole of it, without white space around it. It may end within a character, where the look did.
    pub(super) fn text(&self) -> Option<Cow<'b, str>> {
        let text = match lossy(self.bytes?) {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The words of the first `title` element.
    pub(super) fn title(&self) -> Option<String> {
        let text = lossy(self.bytes?);
        let open = find(&text, "<title")?;
        let (_, rest) = text.split_at_checked(open)?;
        let (_, rest) = rest.split_once('>')?;
        let (title, _) = rest.split_at_checked(find(rest, "</title")?)?;
        Some(title.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Calls `each` with the words of every element whose path ends in `path`, until that has an answer. A document that is
    /// cut off, or is none, has the elements before that.
    pub(super) fn xml<T>(&self, path: &Path, mut each: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let text = lossy(self.bytes?);
        let mut reader = quick_xml::Reader::from_str(&text);
        // Who writes a bare `&` in a message has a code beside it all the same.
        reader.config_mut().allow_dangling_amp = true;
        let mut open: Vec<(String, String)> = Vec::new();
        loop {
            match reader.read_event().ok()? {
                Event::Start(start) => {
                    open.push((start.local_name().into_inner().to_owned(), String::new()));
                    if let Some(answer) = attribute(&start, &open, path).and_then(|words| each(&words)) {
                        return Some(answer);
                    }
                }
                Event::Empty(start) => {
                    open.push((start.local_name().into_inner().to_owned(), String::new()));
                    let found = attribute(&start, &open, path);
                    open.pop();
                    if let Some(answer) = found.and_then(|words| each(&words)) {
                        return Some(answer);
                    }
                }
                Event::Text(words) => {
                    if let Some((_, text)) = open.last_mut() {
                        text.push_str(&words);
                    }
                }
                Event::CData(words) => {
                    if let Some((_, text)) = open.last_mut() {
                        text.push_str(&words);
                    }
                }
                Event::GeneralRef(reference) => {
                    if let Some((_, text)) = open.last_mut() {
                        refer(&reference, text);
                    }
                }
                Event::End(_) => {
                    let found = path.attribute.is_none() && ends_in(&open, path);
                    let (_, text) = open.pop()?;
                    if let Some(answer) = found.then(|| each(text.trim())).flatten() {
                        return Some(answer);
                    }
                }
                Event::Eof => return None,
                _ => {}
            }
        }
    }
}

/// Adds what a reference stands for; one that the document declares itself stays as it was written.
fn refer(reference: &BytesRef<'_>, text: &mut String) {
    match (reference.resolve_char_ref(), resolve_predefined_entity(reference)) {
        (Ok(Some(c)), _) => text.push(c),
        (_, Some(known)) => text.push_str(known),
        _ => {
            text.push('&');
            text.push_str(reference);
            text.push(';');
        }
    }
}

/// The words of the attribute that `path` names, where the element that was opened last is the one it leads to.
fn attribute(start: &BytesStart<'_>, open: &[(String, String)], path: &Path) -> Option<String> {
    let wanted = path.attribute.as_deref().filter(|_| ends_in(open, path))?;
    let attribute = start.try_get_attribute(wanted).ok()??;
    attribute.normalized_value(XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
}

fn ends_in(open: &[(String, String)], path: &Path) -> bool {
    let Some(from) = open.len().checked_sub(path.names.len()) else {
        return false;
    };
    open.iter().skip(from).zip(&path.names).all(|((name, _), wanted)| **name == **wanted)
}

/// Where `needle`, in lower case, stands in `text`, in any case.
fn find(text: &str, needle: &str) -> Option<usize> {
    text.as_bytes().windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

/// Calls `each` with every value at `pointer`, until that has an answer. Objects, lists and `null` are no values.
pub(super) fn at_pointer<T>(
    value: &serde_json::Value,
    pointer: &Pointer,
    each: &mut impl FnMut(&str) -> Option<T>,
) -> Option<T> {
    walk(value, &pointer.segments, each)
}

/// Without an exponent, which `1e3` and what is large or small is written with.
fn plain(number: &serde_json::Number) -> String {
    let text = number.to_string();
    match number.as_f64().filter(|_| text.contains('e')) {
        Some(number) => number.to_string(),
        None => text,
    }
}

/// As deep as the pointer has segments.
fn walk<T>(
    value: &serde_json::Value,
    segments: &[Segment],
    each: &mut impl FnMut(&str) -> Option<T>,
) -> Option<T> {
    use serde_json::Value;
    let Some((segment, rest)) = segments.split_first() else {
        return match value {
            Value::String(words) => each(words),
            Value::Number(number) => each(&plain(number)),
            Value::Bool(truth) => each(if *truth { "true" } else { "false" }),
            _ => None,
        };
    };
    match (segment, value) {
        (Segment::Any, Value::Array(list)) => list.iter().find_map(|value| walk(value, rest, each)),
        (Segment::Any, Value::Object(members)) => members.values().find_map(|value| walk(value, rest, each)),
        (Segment::Key(key), Value::Object(members)) => walk(members.get(&**key)?, rest, each),
        (Segment::Key(key), Value::Array(list)) => walk(list.get(key.parse::<usize>().ok()?)?, rest, each),
        _ => None,
    }
}

/// The data of the first event of a stream of server-sent events (WHATWG HTML section 9.2.6); `None` while it is not
/// whole.
pub(in crate::dialect) fn first_event(stream: &[u8]) -> Option<Vec<u8>> {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut data: Option<Vec<u8>> = None;
    let mut rest = stream;
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        let (line, behind) = rest.split_at_checked(end)?;
        rest = behind.strip_prefix(b"\r\n").or_else(|| behind.get(1..))?;
        if line.is_empty() {
            // A comment or a bare `event` dispatches nothing.
            if data.is_some() {
                return data;
            }
            continue;
        }
        if let Some(words) = line.strip_prefix(b"data:") {
            let words = words.strip_prefix(b" ").unwrap_or(words);
            match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(words);
                }
                None => data = Some(words.to_vec()),
            }
        }
    }
}
