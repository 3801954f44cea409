//! What encoders of others wrote, and frames that are legal and rare.

use super::super::{Decoder, Progress};
use super::encode::{REASON, bare_deflate, decode, decoder, gzip, plain, zstd};

/// Of `zstd -19 --check`, with Huffman coded literals and sequences, and of brotli at its best.
const OTHERS: [(&str, &str); 2] = [
    (
        "zstd",
        "28b52ffd0468350200b2c40e11b0eb246f12c714a8dadaca60b96882c955f109526d72b33aa62d9f1a29d7ea87ab19cc9a0ee27bd\
         322d1c72c2a6a1fae160f6d87e18c76b492c30200404d3c24a6cedbb143f4",
    ),
    (
        "br",
        "1b6100001c07768cb385391cdeee8c508bbc7ded6d9634373aa5d3e794039796646d81753b1df01e63e31b14cf2207cb655a98332d\
         f508d1c1d55ab8fd8023c39f6001",
    ),
];

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let byte = |pair: &[u32]| u8::try_from(pair.iter().fold(0, |sum, digit| sum << 4 | digit)).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// A gzip member whose header has the optional fields that `flags` name.
fn with_fields(flags: u8, fields: &[u8]) -> Vec<u8> {
    let member = gzip(REASON);
    [&[0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 3], fields, &member[10..]].concat()
}

#[test]
fn what_other_encoders_write_is_read() {
    for (codings, coded) in OTHERS {
        let decoded = plain(codings, &unhex(coded));
        assert!(decoded.starts_with(&REASON[..REASON.len() - 1]), "{codings}");
        assert!(decoded.ends_with(b"too many requests\"}"), "{codings}");
    }
}

#[test]
fn every_field_of_a_gzip_header_is_skipped() {
    let fields: [(u8, &[u8]); 5] =
        [(1, b""), (4, b"\x03\0abc"), (8, b"name\0"), (16, b"comment\0"), (2, b"\x12\x34")];
    for chosen in 0..1_u8 << fields.len() {
        let some = fields.iter().enumerate().filter(|(at, _)| chosen & 1 << at != 0).map(|(_, field)| *field);
        let (flags, bytes) = some
            .fold((0, Vec::new()), |(flags, bytes), (flag, field)| (flags | flag, [&bytes, field].concat()));
        assert_eq!(plain("gzip", &with_fields(flags, &bytes)), REASON, "flags {flags:05b}");
    }
    assert_eq!(plain("gzip", &with_fields(4, b"\0\0")), REASON);
    assert_eq!(decode("gzip", [with_fields(32, b"").as_slice()]), (Progress::Failed, Vec::new()));
}

#[test]
fn a_gzip_header_that_never_ends_is_left_at_the_limit() {
    for flags in [8, 16] {
        let mut decoder = decoder("gzip");
        assert_eq!(decoder.push(&with_fields(flags, b"")[..10]), Progress::More);
        let pushed = (0..Decoder::MAX_CODED).position(|_| decoder.push(b"name") != Progress::More);
        assert_eq!(pushed, Some((Decoder::MAX_CODED - 10).div_ceil(4) - 1));
        assert_eq!((decoder.push(b"\0"), decoder.bytes()), (Progress::Done, b"".as_slice()));
    }
}

#[test]
fn a_zstd_frame_is_skipped_where_it_says_so() {
    let skipped = b"\x5f\x2a\x4d\x18\x03\0\0\0abc".as_slice();
    let coded = [skipped, &zstd(REASON), skipped].concat();
    assert_eq!(plain("zstd", &coded), REASON);
    // One of 4 GiB is not waited for.
    let endless = [b"\x50\x2a\x4d\x18\xf0\xff\xff\xff".as_slice(), &[0; 20_000]].concat();
    assert_eq!(decode("zstd", [endless.as_slice()]), (Progress::Done, Vec::new()));
}

#[test]
fn blocks_that_hold_nothing_are_left_at_the_limit() {
    // Empty and not the last, each: a stored block, a raw block, a skipped metablock.
    let (stored, raw, metablock) = ([0, 0, 0, 0xff, 0xff].as_slice(), [0, 0, 0].as_slice(), [6].as_slice());
    for (codings, head, block) in [
        ("deflate", b"".as_slice(), stored),
        ("deflate", b"\x78\x9c", stored),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03", stored),
        ("zstd", b"\x28\xb5\x2f\xfd\0\x58", raw),
        ("br", b"\x0c", metablock),
        ("gzip, deflate", b"", stored),
    ] {
        let coded = [head, &block.repeat(Decoder::MAX_CODED)].concat();
        assert_eq!(decode(codings, [coded.as_slice()]), (Progress::Done, Vec::new()), "{codings}");
    }
}

#[test]
fn the_windows_of_zstd_end_at_8_mib() {
    let frame = |window: u8| [b"\x28\xb5\x2f\xfd\0".as_slice(), &[window], b"\x19\0\0abc"].concat();
    assert_eq!(plain("zstd", &frame((23 - 10) << 3)), b"abc");
    assert_eq!(decode("zstd", [frame((23 - 10) << 3 | 1).as_slice()]).0, Progress::Failed);
    assert_eq!(decode("zstd", [frame(0xff).as_slice()]).0, Progress::Failed);
}

#[test]
fn the_large_windows_of_brotli_are_refused() {
    assert_eq!(decode("br", [b"\x11\x1e\0\0".as_slice()]).0, Progress::Failed);
}

#[test]
fn a_bare_deflate_stream_that_starts_with_a_stored_block_is_no_zlib_header() {
    let stored = [b"\0\x03\0\xfc\xffabc".as_slice(), &bare_deflate(b"def")].concat();
    assert_eq!(plain("deflate", &stored), b"abcdef");
}

/// A metablock of brotli that has `trees` trees of literals and says `letter` (RFC 7932 section 9.2).
fn metablock(put: &mut impl FnMut(u32, usize), trees: u32, letter: u8) {
    put(0, 1); // not the last
    put(0, 2); // its length in four nibbles
    put(0, 16); // which is one byte
    put(0, 1); // compressed
    put(0, 3); // one type of block each for literals, commands and distances
    put(0, 6); // plain distances
    put(0, 2); // a context mode
    // As one bit, how many bits follow, and those.
    let more = trees.saturating_sub(1);
    let bits = more.ilog2();
    put(1 | bits << 1, 4);
    put(more ^ 1 << bits, bits as usize);
    put(0, 1); // a context map without runs, of one symbol
    put(1, 4);
    put(0, bits.saturating_add(1) as usize);
    put(0, 1); // not moved to front
    put(0, 1); // one tree for distances
    for _ in 0..trees {
        put(1, 4); // of one symbol
        put(letter.into(), 8);
    }
    put(1, 4); // one command: a literal
    put(8, 10);
    put(1, 4); // one distance
    put(0, 6);
}

#[test]
fn brotli_has_the_memory_again_that_it_gave_back() {
    let mut bits = Vec::new();
    let mut put = |value: u32, count: usize| bits.extend((0..count).map(|at| value >> at & 1));
    put(0, 1); // a window of 64 KiB
    // Each of these asks for larger tables, in all for more than there is.
    for (trees, letter) in [(40, b'a'), (60, b'b'), (80, b'c'), (100, b'd')] {
        metablock(&mut put, trees, letter);
    }
    put(0b11, 2); // the last, and empty
    let coded: Vec<u8> = bits
        .chunks(8)
        .map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | u8::try_from(*bit).unwrap()))
        .collect();
    assert_eq!(decode("br", [coded.as_slice()]), (Progress::Done, b"abcd".to_vec()));
}
