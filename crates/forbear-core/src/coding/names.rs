use http::header::{self, HeaderMap};

use super::codec::Codec;
use super::decoder::Decoder;

/// The codings of a body in the order in which they are undone. `None` where one cannot be, or they are too many.
pub(super) fn codings(headers: &HeaderMap) -> Option<Vec<Codec>> {
    // Repeated fields are one list (RFC 9110 section 5.3), whose empty elements say nothing (section 5.6.1).
    let names = headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"));
    let mut codings = Vec::new();
    for name in names {
        if codings.len() == Decoder::MAX_CODINGS {
            return None;
        }
        codings.push(Codec::named(name)?);
    }
    codings.reverse();
    Some(codings)
}
