use http::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};

use super::super::{Decoder, Progress};
use super::encode::{REASON, decode, encode, plain};

fn is_known(values: &[&[u8]]) -> bool {
    let value = |value: &&[u8]| (CONTENT_ENCODING, HeaderValue::from_bytes(value).unwrap());
    Decoder::for_headers(&HeaderMap::from_iter(values.iter().map(value))).is_some()
}

#[test]
fn names_are_lists_in_any_case() {
    for known in
        ["", "identity", "Identity, ,", "GZIP", "x-GZip", "deflate", "Br", "zstd", " gzip ,\tbr,zstd"]
    {
        assert!(is_known(&[known.as_bytes()]), "{known}");
    }
    for unknown in ["compress", "x-compress", "aws-chunked", "gzip;q=1", "gzip br", "dcb", "dcz", "*"] {
        assert!(!is_known(&[unknown.as_bytes()]), "{unknown}");
        assert!(!is_known(&[format!("gzip, {unknown}").as_bytes()]), "{unknown}");
    }
    assert!(!is_known(&[b"gz\xffip"]));
}

#[test]
fn no_more_than_three_are_undone() {
    assert!(is_known(&[b"gzip, identity, br, identity, zstd, identity"]));
    assert!(!is_known(&[b"gzip, gzip, gzip, gzip"]));
    assert!(is_known(&[b"gzip, br", b"zstd"]));
    assert!(!is_known(&[b"gzip, br", b"zstd, deflate"]));
}

#[test]
fn the_last_that_was_applied_is_undone_first() {
    for codings in
        ["gzip, br", "br, gzip", "gzip, gzip, gzip", "deflate, zstd, identity, br", "zstd, br, gzip"]
    {
        assert_eq!(plain(codings, &encode(codings, REASON)), REASON, "{codings}");
    }
    assert_eq!(decode("br, gzip", [encode("gzip, br", REASON).as_slice()]), (Progress::Failed, Vec::new()));
}
