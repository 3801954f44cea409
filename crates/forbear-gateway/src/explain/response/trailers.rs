//! The trailer fields (RFC 9110 section 6.5), which curl prints behind the body with nothing between.

use http::header::{HeaderMap, TRAILER};

/// How much of the end of a body is looked at.
const MAX: usize = 16 * 1024;
/// How many names of fields are looked for.
const MAX_NAMES: usize = 32;

/// The body without the trailer fields that its head announces, and the names of those that stand there. Fields that no
/// head announces cannot be told from the body.
pub(super) fn without<'b>(headers: &HeaderMap, body: &'b [u8]) -> (&'b [u8], Vec<String>) {
    let lines = headers.get_all(TRAILER).iter();
    let announced: Vec<&[u8]> = lines
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty())
        .take(MAX_NAMES)
        .collect();
    let starts = body.len().saturating_sub(MAX)..body.len();
    let found = starts.filter(|_| !announced.is_empty()).find_map(|at| {
        let (content, fields) = body.split_at_checked(at)?;
        Some((content, names(fields, &announced)?))
    });
    found.unwrap_or((body, Vec::new()))
}

/// The names of the fields, where nothing else stands there.
fn names(fields: &[u8], announced: &[&[u8]]) -> Option<Vec<String>> {
    let mut lines = fields.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut names = Vec::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let name = line.split(|byte| *byte == b':').next().filter(|name| name.len() < line.len())?;
        let name = announced.iter().find(|announced| announced.eq_ignore_ascii_case(name))?;
        names.push(String::from_utf8_lossy(name).to_ascii_lowercase());
    }
    (!names.is_empty() && lines.all(<[u8]>::is_empty)).then_some(names)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn left(announced: &[&'static str], body: &str) -> (String, String) {
        let headers: HeaderMap =
            announced.iter().map(|names| (TRAILER, HeaderValue::from_static(names))).collect();
        let (body, names) = without(&headers, body.as_bytes());
        (String::from_utf8(body.to_vec()).unwrap(), names.join(" "))
    }

    #[test]
    fn what_the_head_announces_is_no_body() {
        let two = ["X-End, Retry-After"];
        for (announced, printed, names) in [
            (&two[..], "x-end: 1\r\nRetry-After: 7\r\n", "x-end retry-after"),
            (&two[..], "retry-after:7\n\n", "retry-after"),
            (&["a", "b"][..], "b: 1\r\na: x-end: 1\r\n\r\n", "b a"),
        ] {
            assert_eq!(left(announced, &format!("{{}}{printed}")), ("{}".into(), names.into()), "{printed}");
        }
    }

    #[test]
    fn everything_else_is_body() {
        for body in [
            "",
            "{}",
            "{}x-end: 1\r\nx-other: 2\r\n",
            "x-end: 1\r\n\r\n{}",
            "{}x-end",
            "{}\r\n",
            "{}x-end: 1\r\n {}",
        ] {
            assert_eq!(left(&["x-end"], body), (body.into(), String::new()), "{body}");
        }
        assert_eq!(left(&[], "{}x-end: 1\r\n").0, "{}x-end: 1\r\n");
    }
}
