//! Bodies that are not what their heads say.

use super::super::Progress;
use super::encode::{CODINGS, REASON, decode, decoder, encode, gzip, zlib};

#[test]
fn a_body_that_is_not_coded_says_nothing() {
    for codings in CODINGS {
        for body in [REASON, b"<html>", b"\xff\xff\xff\xff\xff\xff\xff\xff"] {
            assert_eq!(decode(codings, [body]), (Progress::Failed, Vec::new()), "{codings}");
        }
        assert_eq!(decode(codings, [b"".as_slice()]), (Progress::More, Vec::new()), "{codings}");
    }
}

#[test]
fn what_was_decoded_of_a_broken_body_is_not_said() {
    // The checksums of gzip and zlib, the length of gzip, and a block of zstd that is none.
    let mut checksum = gzip(REASON);
    let length = checksum.len();
    checksum[length - 8] ^= 1;
    let mut amount = gzip(REASON);
    amount[length - 1] ^= 1;
    let mut adler = zlib(REASON);
    *adler.last_mut().unwrap() ^= 1;
    let block = [b"\x28\xb5\x2f\xfd\0\x58\x18\0\0".as_slice(), b"abc", b"\xff\xff\xff"].concat();
    for (codings, coded) in [("gzip", checksum), ("gzip", amount), ("deflate", adler), ("zstd", block)] {
        let mut decoder = decoder(codings);
        let (start, end) = coded.split_at(coded.len() - 8);
        assert_eq!(decoder.push(start), Progress::More, "{codings}");
        let seen = decoder.bytes().len();
        assert_eq!(decoder.push(end), Progress::Failed, "{codings}");
        assert_eq!((decoder.bytes(), decoder.left()), (b"".as_slice(), 0), "{codings}: it had seen {seen}");
        assert_eq!(decoder.into_bytes(), b"", "{codings}");
    }
}

#[test]
fn nothing_is_looked_at_behind_a_failure() {
    let mut decoder = decoder("gzip");
    assert_eq!(decoder.push(b"<html>"), Progress::Failed);
    assert_eq!(decoder.push(&gzip(REASON)), Progress::Failed);
    assert_eq!(decoder.bytes(), b"");
}

#[test]
fn a_break_behind_the_limit_is_not_seen() {
    for codings in ["gzip", "deflate", "zstd", "gzip, gzip", "zstd, deflate", "br, gzip"] {
        let mut coded = encode(codings, &REASON.repeat(3_000));
        coded.extend_from_slice(&[0xff; 100]);
        let whole = decode(codings, [coded.as_slice()]);
        assert_eq!(whole, decode(codings, coded.chunks(1)), "{codings}");
        assert_eq!(whole.0, Progress::Done, "{codings}");
    }
}

#[test]
fn debug_shows_no_content() {
    let mut decoder = decoder("gzip, br");
    decoder.push(&encode("gzip, br", b"secret"));
    assert_eq!(format!("{decoder:?}"), "Decoder { codings: 2, decoded: 6, progress: Done, .. }");
}
