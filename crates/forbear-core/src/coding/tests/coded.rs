//! Bodies that are what their heads say.

use super::super::{Decoder, Progress};
use super::encode::{
    CODINGS, REASON, bare_deflate, br, decode, decoder, encode, gzip, noise, plain, zlib, zstd,
};
use crate::dialect::Dialect;

#[test]
fn every_coding_is_undone() {
    for codings in CODINGS {
        for sent in [b"".as_slice(), b"x", REASON, &noise(300), &REASON.repeat(400)] {
            assert_eq!(plain(codings, &encode(codings, sent)), sent, "{codings}");
        }
    }
}

#[test]
fn deflate_is_read_with_and_without_its_header() {
    for sent in [b"".as_slice(), REASON, &noise(20_000)[..Dialect::MAX_BODY]] {
        assert_eq!(plain("deflate", &zlib(sent)), sent);
        assert_eq!(plain("deflate", &bare_deflate(sent)), sent);
    }
    // The empty bare stream is the shortest there is.
    assert_eq!(decode("deflate", [[3].as_slice(), &[0]]), (Progress::Done, Vec::new()));
}

#[test]
fn a_body_of_the_limit_that_cannot_be_compressed_is_read_whole() {
    let sent = noise(Dialect::MAX_BODY);
    for codings in CODINGS.into_iter().chain(["gzip, gzip, gzip", "br, zstd, deflate", "zstd, zstd, zstd"]) {
        let coded = encode(codings, &sent);
        assert!((sent.len()..Decoder::MAX_CODED).contains(&coded.len()), "{codings}: {}", coded.len());
        assert_eq!(decode(codings, [coded.as_slice()]), (Progress::Done, sent.clone()), "{codings}");
    }
}

#[test]
fn no_more_is_decoded_than_the_limit() {
    let sent = REASON.repeat(3_000);
    for codings in CODINGS.into_iter().chain(["identity", "gzip, br, zstd"]) {
        let (progress, decoded) = decode(codings, [encode(codings, &sent).as_slice()]);
        assert_eq!((progress, decoded.len()), (Progress::Done, Dialect::MAX_BODY), "{codings}");
        assert!(sent.starts_with(&decoded), "{codings}");
    }
}

#[test]
fn of_a_body_that_is_not_coded_no_more_is_asked_for_than_the_limit() {
    assert_eq!(decoder("gzip").left(), 17_408);
    let mut decoder = decoder("identity");
    assert_eq!(decoder.left(), Dialect::MAX_BODY);
    assert_eq!(decoder.push(&noise(Dialect::MAX_BODY - 1)), Progress::More);
    assert_eq!(decoder.left(), 1);
    assert_eq!(decoder.push(b"x"), Progress::Done);
    assert_eq!(decoder.bytes().len(), 16_384);
}

#[test]
fn brotli_is_refused_the_memory_for_half_a_mebibyte_at_once() {
    assert_eq!(decode("br", [br(&REASON.repeat(12_000)).as_slice()]), (Progress::Failed, Vec::new()));
}

#[test]
fn a_body_that_is_cut_off_says_what_it_said_until_then() {
    let sent = noise(2_000);
    for codings in CODINGS {
        let coded = encode(codings, &sent);
        let mut most = 0;
        for at in 0..coded.len() {
            let (progress, decoded) = decode(codings, [&coded[..at]]);
            assert_ne!(progress, Progress::Failed, "{codings} at {at}");
            assert!(sent.starts_with(&decoded) && decoded.len() >= most, "{codings} at {at}");
            most = decoded.len();
        }
        // A block of zstd is whole or nothing; elsewhere the last bytes say only that it is over.
        assert_eq!(most, if codings == "zstd" { 0 } else { sent.len() }, "{codings}");
    }
}

#[test]
fn members_and_frames_follow_one_another() {
    for (codings, encode) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd)] {
        let coded = [encode(b"a"), encode(b""), encode(b"bc")].concat();
        assert_eq!(decode(codings, [coded.as_slice()]), (Progress::More, b"abc".to_vec()), "{codings}");
    }
}

#[test]
fn what_follows_the_end_is_no_business_of_ours() {
    for codings in CODINGS {
        for noise in [b"\0\0\0\0\0".as_slice(), b"<!-- x -->", b"\x1f\x8c", b"\x28\xb5\x2f\xfe"] {
            let coded = [&encode(codings, REASON), noise].concat();
            let (progress, decoded) = decode(codings, [coded.as_slice()]);
            assert_ne!(progress, Progress::Failed, "{codings}");
            assert_eq!(decoded, REASON, "{codings}");
        }
    }
}
