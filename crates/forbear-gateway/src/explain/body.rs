//! What of a body a dialect gets to see.

use forbear_core::coding::{Decoder, Progress};
use forbear_core::dialect::Dialect;
use http::header::{CONTENT_ENCODING, HeaderMap};

/// What was done with the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The dialect asks nothing of it.
    NotWanted,
    /// These bytes of it were looked at.
    At(Vec<u8>),
    /// It is in these content codings, which cannot be undone.
    Coded(String),
}

/// At most [`Dialect::MAX_BODY`] bytes of the decoded body.
pub(super) fn look(headers: &HeaderMap, body: &[u8]) -> Look {
    let codings = codings(headers);
    // `curl --compressed` undoes the codings, and prints a head that names them.
    let plain = codings.is_empty() || is_text(body);
    let decoder =
        if plain { Some(Decoder::identity(Dialect::MAX_BODY)) } else { Decoder::for_headers(headers) };
    match decoder.and_then(|decoder| decoded(decoder, body)) {
        Some(body) => Look::At(body),
        None => Look::Coded(codings.join(", ")),
    }
}

fn decoded(mut decoder: Decoder, body: &[u8]) -> Option<Vec<u8>> {
    match decoder.push(body) {
        Progress::Failed => None,
        Progress::More | Progress::Done => Some(decoder.into_bytes()),
    }
}

/// The content codings in the order in which they were applied (RFC 9110 section 8.4), without `identity`.
fn codings(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(CONTENT_ENCODING).iter();
    let elements = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    elements
        .map(|element| String::from_utf8_lossy(element.trim_ascii()).to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect()
}

/// Whether it is UTF-8 without controls, as what dialects read is, and no coded body of more than a few bytes.
fn is_text(body: &[u8]) -> bool {
    let body = body.get(..Dialect::MAX_BODY).unwrap_or(body);
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        // Cut within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(body.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.contains(|c: char| c.is_control() && !c.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn coded(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (CONTENT_ENCODING, HeaderValue::from_static(value))).collect()
    }

    /// A zstd frame of one block that is not compressed.
    fn zstd(body: &[u8]) -> Vec<u8> {
        let header = (body.len() << 3 | 1).to_le_bytes();
        [b"\x28\xb5\x2f\xfd\0\x58", &header[..3], body].concat()
    }

    #[test]
    fn a_coded_body_is_decoded() {
        let body = b"{\"reason\":\"busy\"}";
        assert_eq!(look(&coded(&["identity, ZSTD"]), &zstd(body)), Look::At(body.to_vec()));
        assert_eq!(look(&coded(&["zstd", "zstd"]), &zstd(&zstd(body))), Look::At(body.to_vec()));
        assert_eq!(look(&coded(&["identity"]), &zstd(body)), Look::At(zstd(body)));
    }

    #[test]
    fn a_body_that_cannot_be_decoded_is_not_taken_for_text() {
        assert_eq!(look(&coded(&["compress"]), &zstd(b"{}")), Look::Coded("compress".into()));
        assert_eq!(look(&coded(&["GZip, identity", " br"]), &zstd(b"{}")), Look::Coded("gzip, br".into()));
        assert_eq!(look(&coded(&["zstd"]), b"\x1f\x8b\x08\0"), Look::Coded("zstd".into()));
    }

    #[test]
    fn what_was_decoded_before_it_was_printed_is_text() {
        let body = "{\n\t\"code\": \"\u{e4}\"\r\n}";
        assert_eq!(look(&coded(&["gzip"]), body.as_bytes()), Look::At(body.into()));
        assert_eq!(look(&coded(&["gzip"]), b""), Look::At(Vec::new()));
    }

    #[test]
    fn no_more_is_looked_at_than_a_dialect_reads() {
        let body = "\u{e4}".repeat(Dialect::MAX_BODY);
        let odd = format!(".{body}");
        for headers in [coded(&[]), coded(&["gzip"])] {
            let looked = look(&headers, odd.as_bytes());
            assert_eq!(looked, Look::At(odd.as_bytes()[..Dialect::MAX_BODY].to_vec()));
        }
    }
}
