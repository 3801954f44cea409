//! Header fields as bytes: a line each, as in HTTP.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The fields of a response for a store that keeps bytes: `name: value` and a line feed for each. No value has one.
#[must_use]
pub fn fields_to_bytes(fields: &HeaderMap) -> Vec<u8> {
    let length = fields.iter().map(|(name, value)| {
        name.as_str().len().saturating_add(value.len()).saturating_add(BETWEEN.len().saturating_add(1))
    });
    let mut bytes = Vec::with_capacity(length.fold(0, usize::saturating_add));
    for (name, value) in fields {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(BETWEEN);
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// The same back; `None` where they are not what [`fields_to_bytes`] made.
#[must_use]
pub fn fields_from_bytes(bytes: &[u8]) -> Option<HeaderMap> {
    let mut fields = HeaderMap::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, after) = rest.split_at(end);
        rest = after.get(1..)?;
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(BETWEEN)?;
        let (name, value) = (HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?);
        fields.try_append(name, value).ok()?;
    }
    Some(fields)
}

const BETWEEN: &[u8] = b": ";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_field_survives_whatever_its_bytes() {
        let mut fields = HeaderMap::new();
        for (name, value) in [
            ("content-type", &b"text/html"[..]),
            ("set-cookie", b"a=1"),
            ("set-cookie", b"b=2"),
            ("x-empty", b""),
            ("x-colon", b"a: b\t: "),
            ("x-high", b"\xc3\xa4\xff"),
        ] {
            fields.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        let bytes = fields_to_bytes(&fields);
        assert_eq!(fields_from_bytes(&bytes), Some(fields));
        for cut in 1..bytes.len() {
            assert_ne!(fields_from_bytes(&bytes[..cut]).map(|fields| fields.len()), Some(6), "{cut}");
        }
        assert_eq!(fields_from_bytes(b""), Some(HeaderMap::new()));
        for broken in [&b"x"[..], b"x: y", b"x:y\n", b": y\n", b"a b: c\n", b"x: \0\n", b"\n"] {
            assert_eq!(fields_from_bytes(broken), None, "{broken:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            if let Some(fields) = fields_from_bytes(&bytes) {
                prop_assert_eq!(fields_from_bytes(&fields_to_bytes(&fields)), Some(fields));
            }
        }
    }
}
