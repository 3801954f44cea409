//! The chunked transfer coding (RFC 9112 section 7.1), where it was left in.

/// The content of `body`, if that is chunks: all of them, or what is there of a body that was cut off behind its first
/// chunk.
pub(super) fn decoded(body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let mut rest = body;
    let mut chunks = 0_usize;
    loop {
        // A size or a line end that is not there is the end of what was cut off.
        let cut = |content: Vec<u8>| (chunks > 0).then_some(content);
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            return if looks_like_size(rest) { cut(content) } else { None };
        };
        let (line, behind) = (&rest[..end], &rest[end + 1..]);
        let size = size(line)?;
        if size == 0 {
            return ends(behind).then_some(content);
        }
        let Some((data, behind)) = behind.split_at_checked(size) else {
            content.extend_from_slice(behind);
            return cut(content);
        };
        content.extend_from_slice(data);
        rest = match behind {
            [] | [b'\r'] => return cut(content),
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
            _ => return None,
        };
        chunks = chunks.saturating_add(1);
    }
}

/// The size that a line says, without its extensions.
fn size(line: &[u8]) -> Option<usize> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let digits = std::str::from_utf8(digits).ok()?;
    // `from_str_radix` takes a sign.
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| usize::from_str_radix(digits, 16).ok())
        .flatten()
}

fn looks_like_size(line: &[u8]) -> bool {
    line.is_empty() || size(line).is_some()
}

/// Whether trailers, or none, and an empty line stand here.
fn ends(behind: &[u8]) -> bool {
    let mut lines = behind.split_inclusive(|byte| *byte == b'\n');
    lines.any(|line| matches!(line, b"\r\n" | b"\n"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(body: &str) -> Option<String> {
        decoded(body.as_bytes()).map(|content| String::from_utf8(content).unwrap())
    }

    #[test]
    fn chunks_are_put_together() {
        for (body, content) in [
            ("4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n", "{\"a\":1}"),
            ("7;name=value\r\n{\"a\":1}\r\n0\r\nx-trailer: 1\r\n\r\n", "{\"a\":1}"),
            ("0007\n{\"a\":1}\n0\n\n", "{\"a\":1}"),
            ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
            ("0\r\n\r\n", ""),
        ] {
            assert_eq!(read(body).as_deref(), Some(content), "{body:?}");
        }
    }

    #[test]
    fn what_was_cut_off_is_kept() {
        for (body, content) in [("2\r\nab\r\n5\r\ncd", "abcd"), ("2\r\nab\r\n", "ab"), ("2\r\nab\r\n1", "ab")]
        {
            assert_eq!(read(body).as_deref(), Some(content), "{body:?}");
        }
    }

    #[test]
    fn other_bodies_are_no_chunks() {
        for body in [
            "",
            "{\"a\":1}",
            "10",
            "10\n",
            "0\n",
            "5\r\nhello world\r\n",
            "-1\r\n",
            "+2\r\nab\r\n0\r\n\r\n",
            "\r\n",
        ] {
            assert_eq!(read(body), None, "{body:?}");
        }
        assert_eq!(read("ffffffffffffffffff\r\nab"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_left(body: Vec<u8>) {
            let _ = decoded(&body);
        }

        #[test]
        fn anything_like_chunks_is_read_or_left(body in "([0-9a-f]{0,2};?\r?\n[a-z]{0,9}\r?\n){0,4}.{0,2}") {
            let _ = decoded(body.as_bytes());
        }

        #[test]
        fn whatever_was_chunked_comes_back(chunks: Vec<Vec<u8>>) {
            let mut body = Vec::new();
            for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
                body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                body.extend_from_slice(chunk);
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(decoded(&body), Some(chunks.concat()));
        }
    }
}
