//! How much memory a look at a coded body takes, whatever the body claims.
//!
//! What is counted is the sum of all that was allocated, more than was ever held at a time.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may panic")]

use std::alloc::System;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use forbear_core::coding::Decoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const KIB: usize = 1024;

/// 128 MiB of zeros, by brotli at quality 9 with its largest window.
const BR_BOMB: &[u8] =
    b"\xcf\xff\xff\x7f\0\x24\0\xe2\xb1\x40\x72\xef\xff\xf9\xff\xff\x0f\x80\x04\x40\x1c\x16\x80\xee\xfd";

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// The head of a brotli body that asks for 256 trees of literals, each with a table of its own (RFC 7932 section 9.2).
fn br_trees() -> Vec<u8> {
    let mut bits = Vec::new();
    let mut put = |value: u32, count: usize| bits.extend((0..count).map(|at| value >> at & 1));
    put(0, 1); // a window of 64 KiB
    put(0b01, 2); // the last metablock, and not empty
    put(0, 2); // its length in four nibbles
    put(0xffff, 16);
    put(0, 3); // one type of block each for literals, commands and distances
    put(0, 6); // plain distances
    put(0, 2); // a context mode
    put(1 | 7 << 1 | 127 << 4, 11); // 256 trees
    put(0, 1); // a context map without runs, of one symbol
    put(1, 2);
    put(0, 2);
    put(0, 8);
    put(0, 1); // not moved to front
    put(0, 1); // one tree for distances
    for _ in 0..256 {
        // Complex, with lengths that are all 8: 256 symbols each.
        put(0, 2);
        for length in [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8] {
            // The one code length that is used is 8: its code has no bits.
            if length == 8 { put(0b0111, 4) } else { put(0, 2) }
        }
    }
    bits.chunks(8)
        .map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | u8::try_from(*bit).unwrap()))
        .collect()
}

/// Bytes allocated during a look at `body`, and bytes decoded.
fn allocated(codings: &str, body: &[u8]) -> (usize, usize) {
    let headers = HeaderMap::from_iter([(CONTENT_ENCODING, codings.parse().unwrap())]);
    let region = Region::new(ALLOCATOR);
    let mut decoder = Decoder::for_headers(&headers).unwrap();
    decoder.push(body);
    let allocated =
        region.change().bytes_allocated + usize::try_from(region.change().bytes_reallocated.max(0)).unwrap();
    (allocated, decoder.bytes().len())
}

// One test: what another one allocates at the same time would be counted too.
#[test]
fn memory_of_a_look_is_bounded_whatever_the_body_claims() {
    let zeros = gzip(&vec![0; 32 << 20]);
    let mut nested = zeros.clone();
    nested = gzip(&nested);
    nested = gzip(&nested);
    let zstd_block = [0x02, 0, 0x10, 0];
    let zstd = |window: u8| [b"\x28\xb5\x2f\xfd\0".as_slice(), &[window], &zstd_block.repeat(1024)].concat();
    let zstd_single = [b"\x28\xb5\x2f\xfd\xe0\0\0\x80\0\0\0\0\0".as_slice(), &zstd_block.repeat(64)].concat();
    for (what, codings, body, most) in [
        ("gzip, 32 MiB in 32 KiB", "gzip", zeros, 80 * KIB),
        ("gzip, three times", "gzip, gzip, gzip", nested, 240 * KIB),
        ("br, a window of 16 MiB", "br", BR_BOMB.to_vec(), 256 * KIB),
        ("br, 256 trees", "br", br_trees(), 320 * KIB),
        ("zstd, a window of 8 MiB, 128 MiB in 4 KiB", "zstd", zstd((23 - 10) << 3), 320 * KIB),
        ("zstd, a window of 3.75 TiB", "zstd", zstd(0xff), 8 * KIB),
        ("zstd, 8 MiB in one segment", "zstd", zstd_single, 320 * KIB),
    ] {
        let (allocated, decoded) = allocated(codings, &body);
        println!("{what}: {} bytes, {decoded} decoded, {} KiB allocated", body.len(), allocated / KIB);
        assert!(allocated <= most, "{what}: {} KiB, at most {} KiB", allocated / KIB, most / KIB);
    }
}
