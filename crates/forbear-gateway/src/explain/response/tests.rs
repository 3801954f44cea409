use proptest::prelude::*;

use super::*;

fn read(input: &str) -> Response {
    parse(input.as_bytes()).unwrap()
}

fn status(input: &str) -> u16 {
    read(input).status.as_u16()
}

fn values(response: &Response, name: &str) -> Vec<Vec<u8>> {
    response.headers.get_all(name).iter().map(|value| value.as_bytes().to_vec()).collect()
}

#[test]
fn every_form_of_a_status_line_is_read() {
    for line in [
        "HTTP/1.1 429 Too Many Requests",
        "HTTP/1.0 429 Too Many Requests",
        "HTTP/1.1 429",
        "HTTP/1.1 429 ",
        "HTTP/2 429",
        "HTTP/2 429 ",
        "HTTP/3 429 ",
        "HTTP/2.0 429",
        "HTTP/1.1  429 Zu viele Anfragen \u{e4}",
    ] {
        for end in ["", "\n", "\r\n", "\n\n", "\r\n\r\n"] {
            let response = read(&format!("{line}{end}"));
            assert_eq!((response.status.as_u16(), response.headers.len()), (429, 0), "{line}");
            assert_eq!((response.line.as_str(), response.body.len()), (line.trim_end(), 0));
        }
    }
}

#[test]
fn what_is_no_response_says_so() {
    for input in ["", "\n", "\r\n\r\n"] {
        assert_eq!(parse(input.as_bytes()).unwrap_err(), Unreadable::Empty, "{input:?}");
    }
    for input in [
        "{\"message\": \"no head\"}",
        "HTTP/1.1 4290 Many",
        "HTTP/1.1 42",
        "HTTP/1.1 099 Low",
        "HTTP/1.1 +29 Sign",
        "HTTP/ 429",
        "HTTP/1.1.1 429",
        "HTTP/1.1\t429",
        "http/1.1 429",
        " HTTP/1.1 429",
        "< HTTP/1.1 429",
        "retry-after: 5\r\n\r\n",
    ] {
        let error = parse(input.as_bytes()).unwrap_err();
        assert!(matches!(&error, Unreadable::NoStatusLine(_)), "{input:?}");
        assert!(error.to_string().contains("curl -si"), "{error}");
    }
    let long = parse(&vec![b'x'; 1_000_000]).unwrap_err().to_string();
    assert!(long.len() < 300, "{long}");
}

#[test]
fn what_people_have_at_hand_says_what_to_do() {
    let told = |input: &[u8]| {
        parse(input).map(|response| response.status.as_u16()).map_err(|error| error.to_string())
    };
    assert_eq!(told(b"\xef\xbb\xbfHTTP/1.1 429 X\r\n\r\n"), Ok(429));
    for marked in [&b"\xff\xfe"[..], b""] {
        let utf_16: Vec<u8> = "HTTP/1.1 429 X\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(told(&[marked, &utf_16].concat()).is_err_and(|error| error.contains("curl -si -o FILE")));
    }
    for line in ["< HTTP/1.1 429 X", "*   Trying 127.0.0.1:80...", "> GET / HTTP/1.1"] {
        assert!(told(line.as_bytes()).is_err_and(|error| error.contains("curl -v")), "{line}");
    }
}

#[test]
fn trailers_are_no_body() {
    let response =
        read("HTTP/1.1 429 X\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n{}x-end: 1\r\n");
    assert_eq!(
        (&*response.body, &*response.notes),
        (&b"{}"[..], &["the trailers behind the body were left out: x-end".to_owned()][..])
    );
}

#[test]
fn a_response_that_may_be_another_is_told_of() {
    let notes = |head: &str, body: &str| read(&format!("HTTP/1.1 429 X\r\n{head}\r\n{body}")).notes;
    let two = "{}HTTP/1.1 200 OK\r\nx: 1\r\n\r\n";
    assert_eq!(
        notes("", two),
        [
            "`HTTP/1.1 200 OK` in the body looks like the head of another response: give each in a file of its own"
        ]
    );
    assert!(notes(&format!("content-length: {}\r\n", two.len()), two).is_empty());
    assert!(notes("", "see HTTP/1.1 in RFC 9112").is_empty());
}

#[test]
fn header_bytes_are_kept_as_they_were_sent() {
    let input = b"HTTP/1.1 429 X\r\nRetry-After:  120\xff\t \r\nx-a: one\r\nX-A:\r\nx-a : two, three\r\nx-u: \xc2\xa05\xc2\xa0\r\n\r\n";
    let response = parse(input).unwrap();
    assert_eq!(values(&response, "retry-after"), [b"120\xff"]);
    assert_eq!(values(&response, "x-a"), [&b"one"[..], b"", b"two, three"]);
    assert_eq!(values(&response, "x-u"), [b"\xc2\xa05\xc2\xa0"]);
    assert!(response.notes.is_empty());
}

#[test]
fn a_folded_line_is_one_value() {
    let response = read("HTTP/1.1 200 OK\r\nx-a: one\r\n\t two\r\n  three\r\nx-b: 1\r\n\r\nbody");
    assert_eq!(values(&response, "x-a"), [b"one two three"]);
    assert_eq!((values(&response, "x-b"), &*response.body), (vec![b"1".to_vec()], &b"body"[..]));
}

#[test]
fn a_line_that_is_no_header_hides_no_other() {
    let response = read(
        "HTTP/1.1 429 X\n folded\nno colon\n: no name\na b: 1\nx-nul: \0\nx-cr: 1\r2\nretry-after: 5\n\n",
    );
    assert_eq!((response.headers.len(), values(&response, "retry-after")), (1, vec![b"5".to_vec()]));
    assert_eq!(response.notes.len(), 6);
    assert_eq!(response.notes[0], "line 2 is no header line, and was left out:  folded");
    assert_eq!(response.notes[1], "line 3 is no header line, and was left out: no colon");
    assert_eq!(response.notes[5], "1 more lines are no header lines, and were left out");
}

#[test]
fn lines_are_counted_over_all_responses() {
    let response = read("\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 X\r\nwrong\r\n\r\n");
    assert_eq!(response.notes, ["line 5 is no header line, and was left out: wrong"]);
}

#[test]
fn a_long_head_is_cut_and_its_body_found() {
    let mut input = b"HTTP/1.1 429 X\r\nretry-after: 5\r\n".to_vec();
    for number in 0..9000 {
        input.extend_from_slice(format!("x-{number}: {number}\r\n").as_bytes());
    }
    input.extend_from_slice(b"x-last: 1\r\n\r\nbody");
    let response = parse(&input).unwrap();
    assert_eq!((values(&response, "retry-after"), &*response.body), (vec![b"5".to_vec()], &b"body"[..]));
    assert!(response.headers.get("x-last").is_none());
    assert_eq!(response.notes, ["the head is longer than 65536 bytes, and the rest of it was left out"]);
    let one = [&b"HTTP/1.1 429 X\r\nx: "[..], &vec![b'x'; 100_000], b"\r\n\r\nbody"].concat();
    let response = parse(&one).unwrap();
    assert_eq!((response.headers.len(), response.notes.len(), &*response.body), (0, 1, &b"body"[..]));
}

#[test]
fn the_last_of_several_responses_counts() {
    const LAST: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\n\r\nbody";
    for before in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
        "HTTP/1.1 200 Connection established\r\nproxy-agent: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.0 407 Proxy Authentication Required\r\ncontent-length: 9\r\n\r\nHTTP/1.0 200 Connection established\r\n\r\n",
        "HTTP/1.1 301 Moved Permanently\r\nlocation: /a\r\ncontent-length: 178\r\n\r\n",
        "HTTP/2 302 \r\nlocation: /a\r\ncontent-type: text/html\r\n\r\n",
        // Several URLs, `--retry`, and the same of `curl -I`.
        "HTTP/1.1 503 X\r\ncontent-length: 4\r\n\r\nbusy",
        "HTTP/1.1 503 X\r\ncontent-length: 4\r\ncontent-type: text/plain\r\n\r\n",
    ] {
        let response = read(&format!("{before}{LAST}"));
        assert_eq!((response.status.as_u16(), &*response.body), (429, &b"body"[..]), "{before}");
        assert_eq!(response.before, before.matches("HTTP/").count(), "{before}");
    }
}

#[test]
fn a_body_that_looks_like_a_response_is_a_body() {
    const BODY: &str = "HTTP/1.1 200 OK\r\n\r\n";
    for head in [
        "HTTP/1.1 429 X\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-type: message/http\r\n\r\n".to_owned(),
        format!("HTTP/1.1 429 X\r\ncontent-length: {}\r\n\r\n", BODY.len()),
        "HTTP/1.1 429 X\r\n\r\nfirst ".to_owned(),
    ] {
        let response = read(&format!("{head}{BODY}"));
        assert_eq!(
            (response.before, response.line.contains("X") || response.headers.len() == 1),
            (0, true),
            "{head}"
        );
        assert!(response.body.ends_with(BODY.as_bytes()), "{head}");
    }
}

#[test]
fn an_interim_response_alone_is_what_there_is() {
    assert_eq!(status("HTTP/1.1 100 Continue\r\n\r\n"), 100);
    assert_eq!(status("HTTP/1.1 101 Switching Protocols\r\n\r\nbytes"), 101);
}

#[test]
fn chunks_are_decoded_where_they_were_left_in() {
    let head = "HTTP/1.1 429 X\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n";
    assert_eq!(read(&format!("{head}4\r\nbody\r\n0\r\n\r\n")).body, b"body");
    assert_eq!(read(&format!("{head}body")).body, b"body");
    let chunks = "4\r\nbody\r\n0\r\n\r\n";
    assert_eq!(read(&format!("HTTP/1.1 429 X\r\n\r\n{chunks}")).body, chunks.as_bytes());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(input: Vec<u8>) {
        let _ = parse(&input);
    }

    #[test]
    fn anything_like_a_status_line_is_read_or_refused(input in "(HTTP)?/?[0-9. ]{0,9}[ a-z\r\n]{0,3}") {
        let _ = parse(input.as_bytes());
    }

    #[test]
    fn any_bytes_behind_a_status_line_are_read(input: Vec<u8>) {
        prop_assert!(parse(&[b"HTTP/1.1 429 X\n", &input[..]].concat()).is_ok());
    }

    #[test]
    fn parts_of_responses_in_any_order_are_read(
        parts in prop::collection::vec(prop::sample::select(&[
            "HTTP/1.1 429 X", "HTTP/2 200", "HTTP/1.1 301 ", "HTTP/1.1 100 ", "\r\n", "\n", "\r", ":", " ", "a: b",
            "content-length: 3", "content-length: 18446744073709551615", "transfer-encoding: chunked", "3", "0", "\0", "\u{e4}",
        ][..]), 0..40),
    ) {
        let input = format!("HTTP/1.1 429 X\r\n{}", parts.concat());
        prop_assert!(parse(input.as_bytes()).is_ok());
    }
}
