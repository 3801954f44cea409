//! Bodies as servers send them.

use std::io::Write;

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::super::{Decoder, Progress};

pub(super) const REASON: &[u8] = br#"{"details":{"reason":"inflight_limit"}}"#;
pub(super) const CODINGS: [&str; 5] = ["gzip", "x-gzip", "deflate", "br", "zstd"];

pub(super) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn bare_deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn br(mut plain: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    let params = BrotliEncoderParams { quality: 5, lgwin: 18, ..BrotliEncoderParams::default() };
    brotli::BrotliCompress(&mut plain, &mut coded, &params).unwrap();
    coded
}

pub(super) fn zstd(plain: &[u8]) -> Vec<u8> {
    compress_to_vec(plain, CompressionLevel::Fastest)
}

/// Applies the codings of a list, in its order.
pub(super) fn encode(codings: &str, plain: &[u8]) -> Vec<u8> {
    codings.split(", ").fold(plain.to_vec(), |plain, coding| match coding {
        "gzip" | "x-gzip" => gzip(&plain),
        "deflate" => zlib(&plain),
        "br" => br(&plain),
        "zstd" => zstd(&plain),
        _ => plain,
    })
}

pub(super) fn decoder(codings: &str) -> Decoder {
    let headers = HeaderMap::from_iter([(CONTENT_ENCODING, codings.parse().unwrap())]);
    Decoder::for_headers(&headers).unwrap()
}

/// How a body in pieces ends, and what it says.
pub(super) fn decode<'a>(codings: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Progress, Vec<u8>) {
    let mut decoder = decoder(codings);
    let mut progress = Progress::More;
    for piece in pieces {
        progress = decoder.push(piece);
    }
    assert_eq!(progress != Progress::More, decoder.left() == 0);
    let said = decoder.bytes().to_vec();
    assert_eq!(decoder.into_bytes(), said);
    (progress, said)
}

/// What a body that comes in one piece says.
pub(super) fn plain(codings: &str, coded: &[u8]) -> Vec<u8> {
    decode(codings, [coded]).1
}

/// Bytes that no coding makes shorter.
pub(super) fn noise(length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    })
    .take(length)
    .collect()
}
