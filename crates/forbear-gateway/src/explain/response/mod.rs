//! What `curl -si` prints, taken apart.
//!
//! Not read by a parser of HTTP/1.1 off the wire: such a one refuses `HTTP/2 429`, a head without its empty line, and a
//! whole response for one bad line, all of which people have at hand. Names and values are checked by [`http`].

mod chunked;
mod head;
mod trailers;
mod unreadable;

use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING};

use head::{Head, begins_response};
pub(super) use unreadable::Unreadable;

/// The response that counts.
#[derive(Debug)]
pub(super) struct Response {
    /// The line that begins it, such as `HTTP/2 429`.
    pub(super) line: String,
    pub(super) status: StatusCode,
    /// Every line of a repeated header, with the bytes that were sent.
    pub(super) headers: HeaderMap,
    /// As it was sent, without chunks.
    pub(super) body: Vec<u8>,
    /// How many responses come before it: interim ones, a proxy's, redirects.
    pub(super) before: usize,
    /// What was left out.
    pub(super) notes: Vec<String>,
}

/// The last response of `input`.
pub(super) fn parse(input: &[u8]) -> Result<Response, Unreadable> {
    if matches!(input, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'H', 0, ..]) {
        return Err(Unreadable::Utf16);
    }
    // What editors put before UTF-8.
    let input = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    // Robust as RFC 9112 section 2.2 asks for.
    let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let (blank, mut rest) = input.split_at(blank);
    let mut line = blank.iter().filter(|byte| **byte == b'\n').count();
    let mut before = 0_usize;
    loop {
        let head = head::read(rest, line)?;
        match next(&head) {
            Some(behind) => {
                let consumed = rest.len().saturating_sub(behind.len());
                line += rest.iter().take(consumed).filter(|byte| **byte == b'\n').count();
                rest = behind;
                before = before.saturating_add(1);
            }
            None => return Ok(last(head, before)),
        }
    }
}

fn last(head: Head<'_>, before: usize) -> Response {
    let chunked = head.headers.get_all(TRANSFER_ENCODING).iter().next_back().is_some_and(|line| {
        let last = line.as_bytes().rsplit(|byte| *byte == b',').next().unwrap_or_default();
        last.trim_ascii().eq_ignore_ascii_case(b"chunked")
    });
    // Only `curl --raw` leaves the chunks in.
    let decoded = if chunked { chunked::decoded(head.behind) } else { None };
    let mut notes = head.notes;
    let body = decoded.unwrap_or_else(|| {
        let (body, fields) = trailers::without(&head.headers, head.behind);
        if !fields.is_empty() {
            notes.push(format!("the trailers behind the body were left out: {}", fields.join(", ")));
        }
        body.to_vec()
    });
    if content_length(&head.headers) != Some(body.len())
        && let Some(other) = another(&body)
    {
        notes.push(format!(
            "`{}` in the body looks like the head of another response: give each in a file of its own",
            String::from_utf8_lossy(other)
        ));
    }
    Response {
        line: String::from_utf8_lossy(head.line).trim_end().to_owned(),
        status: head.status,
        headers: head.headers,
        body,
        before,
        notes,
    }
}

/// What follows the response with this head, if that is another one.
fn next<'i>(head: &Head<'i>) -> Option<&'i [u8]> {
    let behind = head.behind;
    let length = content_length(&head.headers);
    let at_once = match head.status.as_u16() {
        // Interim responses, and those whose body curl does not print when it goes on to the next: redirects and
        // requests for credentials.
        100..=199 | 204 | 300..=399 | 401 | 407 => true,
        // A proxy that opened a tunnel.
        200..=299 => !head.headers.contains_key(CONTENT_TYPE) && length.unwrap_or(0) == 0,
        _ => false,
    };
    // Of an answer to HEAD there is no body, whatever its length.
    let bodiless = length.is_some_and(|length| length != behind.len());
    if (at_once || bodiless) && begins_response(behind) {
        return Some(behind);
    }
    // Several URLs, or `--retry`.
    behind.get(length?..).filter(|behind| begins_response(behind))
}

/// The status line of another response within a body that does not end before it.
fn another(body: &[u8]) -> Option<&[u8]> {
    const LONGEST: usize = 60;
    let at = body.windows(5).enumerate().filter(|(_, window)| window == b"HTTP/");
    let starts = at.filter_map(|(at, _)| body.get(at..)).map(|rest| rest.get(..LONGEST).unwrap_or(rest));
    starts
        .filter(|start| begins_response(start))
        .find_map(|start| start.split(|byte| matches!(byte, b'\r' | b'\n')).next())
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
