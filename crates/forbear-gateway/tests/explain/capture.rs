//! What people really have at hand.

use crate::support::{explain, json};

#[test]
fn what_curl_prints_is_read_by_its_last_response() {
    let printed = "HTTP/1.1 200 Connection established\r\n\r\n\
                   HTTP/1.1 100 Continue\r\n\r\n\
                   HTTP/1.1 301 Moved Permanently\r\nlocation: /b\r\ncontent-length: 9\r\n\r\n\
                   HTTP/2 429 \r\nretry-after: 7\r\n\r\n{}";
    assert_eq!(json(&[], printed.as_bytes())["delay_ms"], 7000);
    let ran = explain(&["-"], printed.as_bytes());
    assert!(ran.out.starts_with("response    HTTP/2 429 (the last of 4)\n"), "{}", ran.out);
}

#[test]
fn a_reason_in_chunks_is_found() {
    let chunks = b"HTTP/1.1 429 X\r\ntransfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n\
                   e\r\n{\"reason\": \"in\r\ne\r\nflight_limit\"}\r\n0\r\n\r\n";
    let found = json(&[], chunks);
    assert_eq!((&found["reason"], &found["class"]), (&"inflight_limit".into(), &"overloaded".into()));
}

#[test]
fn a_coded_body_is_decoded() {
    let coded = b"HTTP/1.1 429 X\r\ncontent-encoding: zstd\r\nretry-after: 5\r\n\r\n\
                  \x28\xb5\x2f\xfd\0\x58\xd9\0\0{\"reason\":\"inflight_limit\"}";
    assert_eq!(json(&[], coded)["reason"], "inflight_limit");
    let ran = explain(&["-"], coded);
    assert!(ran.out.contains("36 bytes, looked at\n"), "{}", ran.out);
}

#[test]
fn a_body_that_cannot_be_decoded_is_said_not_to_be_looked_at() {
    for coding in ["compress", "zstd"] {
        let head = format!("HTTP/1.1 429 X\r\ncontent-encoding: {coding}\r\nretry-after: 5\r\n\r\n");
        let coded = [head.as_bytes(), b"\x1f\x9d\x90\0\0\0\0\0\0\x03"].concat();
        let ran = explain(&["-"], &coded);
        assert!(
            ran.out.contains(&format!("10 bytes, not looked at: content-encoding {coding}")),
            "{}",
            ran.out
        );
        let ran = explain(&["--json", "-"], &coded);
        assert!(ran.out.contains("\"delay_ms\":5000"), "{}", ran.out);
        assert_eq!(ran.err, format!("note: the body was not looked at: content-encoding {coding}\n"));
    }
}

#[test]
fn a_body_that_curl_decoded_is_looked_at() {
    let printed = b"HTTP/1.1 429 X\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\n{\"reason\": \"inflight_limit\"}";
    assert_eq!(json(&[], printed)["reason"], "inflight_limit");
}

#[test]
fn what_is_left_out_is_told() {
    let mut long = b"HTTP/1.1 429 X\r\nretry-after: 5\r\nbroken\r\n\r\n".to_vec();
    long.resize(3 * 1024 * 1024, b'x');
    let ran = explain(&["-"], &long);
    assert!(
        ran.out.contains("note        line 3 is no header line, and was left out: broken\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("longer than 1048576 bytes, and the rest was left out\n"), "{}", ran.out);
    assert!(ran.out.contains("looked at the first 16384\n"), "{}", ran.out);
}

#[test]
fn nothing_that_moves_a_terminal_is_printed() {
    let hostile = "HTTP/1.1 429 \u{1b}]0;title\u{7}\r\nretry-after: 5 \u{9b}31m\r\nx\u{1b}[2J\r\nx-bell: \u{7}\r\n\
                   x-ratelimit-remaining: 0\r\nx-ratelimit-resource: a\u{202e}b\u{85}c\r\n\r\n\
                   {\"reason\": \"a\\u001b[31m\\u202eb\\u009bc\", \"message\": \"secondary rate limit\"}";
    for dialect in ["generic-http", "github"] {
        for arguments in [&["--dialect", dialect, "-"][..], &["--dialect", dialect, "--json", "-"]] {
            let ran = explain(arguments, hostile.as_bytes());
            assert_eq!(ran.status, 0);
            for printed in [&ran.out, &ran.err] {
                let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                assert!(!printed.contains(bad), "{printed:?}");
            }
        }
    }
}

#[test]
fn a_wait_ends_by_the_clock_that_it_counts_from() {
    let told = |head: &str| {
        explain(&["--now", "2030-01-01T00:00:00Z", "-"], format!("HTTP/1.1 429 X\r\n{head}\r\n").as_bytes())
            .out
    };
    let date = "date: Mon, 30 Nov 2026 00:00:00 GMT\r\n";
    for (head, end) in [
        (
            format!("{date}retry-after: Mon, 30 Nov 2026 00:01:00 GMT\r\n"),
            "1m00s, until 2026-11-30T00:01:00Z",
        ),
        (format!("{date}retry-after: 60\r\n"), "1m00s, until 2026-11-30T00:01:00Z"),
        (format!("{date}age: 20\r\nretry-after: 60\r\n"), "40s, until 2026-11-30T00:01:00Z"),
        ("retry-after: 60\r\n".to_owned(), "1m00s, until 2030-01-01T00:01:00Z"),
        ("date: soon\r\nretry-after: 60\r\n".to_owned(), "1m00s, until 2030-01-01T00:01:00Z"),
    ] {
        assert!(told(&head).contains(&format!("wait        {end}")), "{head}{}", told(&head));
    }
}

#[test]
fn a_limit_on_a_bucket_that_has_no_name_is_the_familys() {
    let limited = |name: &str| {
        explain(
            &["--dialect", "discord", "-"],
            format!("HTTP/1.1 429 X\r\nretry-after: 5\r\nvia: 1.1 google\r\n{name}\r\n").as_bytes(),
        )
        .out
    };
    let named = limited("x-ratelimit-bucket: abc\r\n");
    assert!(
        named.contains("`bucket:abc`: a bucket of the vendor's")
            && named.contains("closes the routes of this bucket"),
        "{named}"
    );
    let nameless = limited("");
    assert!(
        nameless.contains("the whole family: the answer names no bucket")
            && nameless.contains("closes the family"),
        "{nameless}"
    );
}
