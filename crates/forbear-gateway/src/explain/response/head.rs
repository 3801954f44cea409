//! A status line and the header lines below it.

use std::borrow::Cow;

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::Unreadable;

/// The longest head that is read, in bytes: 64 KiB.
const MAX: usize = 64 * 1024;
/// How many lines that were left out are told of.
const MAX_NOTES: usize = 5;
/// How much of such a line is shown, in characters.
const EXCERPT: usize = 60;

#[derive(Debug)]
pub(super) struct Head<'i> {
    pub(super) line: &'i [u8],
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// What stands behind the empty line.
    pub(super) behind: &'i [u8],
    pub(super) notes: Vec<String>,
}

/// The head that `input` begins with; `lines` stand before it.
pub(super) fn read(input: &[u8], lines: usize) -> Result<Head<'_>, Unreadable> {
    let (line, mut behind) = first_line(input);
    let Some(status) = status(line) else {
        let found = excerpt(line);
        return Err(if input.is_empty() { Unreadable::Empty } else { Unreadable::NoStatusLine(found) });
    };
    let mut fields = Fields::default();
    for number in lines.saturating_add(2).. {
        let (line, next) = first_line(behind);
        let read = input.len().saturating_sub(next.len());
        behind = next;
        // Also where there is no more.
        if line.is_empty() {
            break;
        }
        if read > MAX { fields.too_long() } else { fields.line(number, line) }
    }
    let (headers, notes) = fields.end();
    Ok(Head { line, status, headers, behind, notes })
}

/// Whether `input` begins with a status line.
pub(super) fn begins_response(input: &[u8]) -> bool {
    status(first_line(input).0).is_some()
}

/// The first line without its end, CRLF or LF, and what follows.
fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    let (line, behind) = match input.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (input, &input[input.len()..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), behind)
}

/// The status of `HTTP/1.1 429 Too Many Requests`, `HTTP/2 429` and their like.
fn status(line: &[u8]) -> Option<StatusCode> {
    let line = line.strip_prefix(b"HTTP/")?;
    let (version, line) = line.split_at(line.iter().position(|byte| *byte == b' ')?);
    if !matches!(version, [b'0'..=b'9'] | [b'0'..=b'9', b'.', b'0'..=b'9']) {
        return None;
    }
    let (code, phrase) = line.trim_ascii_start().split_at_checked(3)?;
    StatusCode::from_bytes(code).ok().filter(|_| matches!(phrase, [] | [b' ', ..]))
}

/// Header lines as they come. A line that is folded (RFC 9112 section 5.2) is done when the next one begins.
#[derive(Default)]
struct Fields<'i> {
    headers: HeaderMap,
    open: Option<(usize, Cow<'i, [u8]>)>,
    left_out: usize,
    too_long: bool,
    notes: Vec<String>,
}

impl<'i> Fields<'i> {
    fn line(&mut self, number: usize, line: &'i [u8]) {
        if let (Some(b' ' | b'\t'), Some((_, open))) = (line.first(), &mut self.open) {
            let open = open.to_mut();
            open.push(b' ');
            open.extend_from_slice(line.trim_ascii());
            return;
        }
        self.close();
        self.open = Some((number, Cow::Borrowed(line)));
    }

    fn close(&mut self) {
        let Some((number, line)) = self.open.take() else { return };
        if let Some((name, value)) = field(&line)
            && self.headers.try_append(name, value).is_ok()
        {
            return;
        }
        self.left_out = self.left_out.saturating_add(1);
        if self.left_out <= MAX_NOTES {
            self.notes.push(format!("line {number} is no header line, and was left out: {}", excerpt(&line)));
        }
    }

    fn too_long(&mut self) {
        self.too_long = true;
    }

    fn end(mut self) -> (HeaderMap, Vec<String>) {
        self.close();
        if let Some(more @ 1..) = self.left_out.checked_sub(MAX_NOTES) {
            self.notes.push(format!("{more} more lines are no header lines, and were left out"));
        }
        if self.too_long {
            self.notes.push(format!("the head is longer than {MAX} bytes, and the rest of it was left out"));
        }
        (self.headers, self.notes)
    }
}

/// Name and value with the bytes that were sent. White space before the colon is taken away, as RFC 9112 section 5.1 has
/// a proxy do.
fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_at_checked(line.iter().position(|byte| *byte == b':')?)?;
    let name = HeaderName::from_bytes(trim_end(name)).ok()?;
    HeaderValue::from_bytes(trim(value.get(1..)?)).ok().map(|value| (name, value))
}

/// Without spaces and tabs around it, and without nothing else (RFC 9110 section 5.5).
fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    trim_end(bytes)
}

fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

fn excerpt(line: &[u8]) -> String {
    // No character is longer than four bytes.
    let text = String::from_utf8_lossy(line.get(..EXCERPT * 4).unwrap_or(line)).into_owned();
    match text.char_indices().nth(EXCERPT) {
        Some((at, _)) => format!("{}\u{2026}", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
