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

/// Bits, the lowest first.
#[derive(Default)]
struct Bits(Vec<u32>);

impl Bits {
    fn put(&mut self, value: u32, count: usize) {
        self.0.extend((0..count).map(|at| value >> at & 1));
    }

    /// How many there are of something: as one bit, how many bits follow, and those.
    fn put_count(&mut self, count: u32) {
        match count.saturating_sub(1).checked_ilog2() {
            Some(bits) => {
                self.put(1 | bits << 1, 4);
                self.put(count.saturating_sub(1) ^ 1 << bits, bits as usize);
            }
            None => self.put(0, 1),
        }
    }

    /// A code of one symbol, which takes no bits.
    fn put_code(&mut self, symbol: u32, bits: usize) {
        self.put(1, 4);
        self.put(symbol, bits);
    }

    fn bytes(&self) -> Vec<u8> {
        let byte =
            |bits: &[u32]| bits.iter().rev().fold(0, |sum, bit| sum << 1 | u8::try_from(*bit).unwrap());
        self.0.chunks(8).map(byte).collect()
    }
}

/// A body of brotli whose metablocks have so many trees of literals (2 to 256) and of commands (1, or 65 to 126), and say one
/// letter each (RFC 7932 section 9.2).
fn of_trees(metablocks: &[(u32, u32, u8)]) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0, 1); // a window of 64 KiB
    for (literals, commands, letter) in metablocks {
        bits.put(0, 1); // not the last
        bits.put(0, 2); // its length in four nibbles
        bits.put(0, 16); // which is one byte
        bits.put(0, 1); // compressed
        bits.put_count(1); // types of blocks of literals
        bits.put_count(*commands); // and of commands, a tree for each
        if *commands > 1 {
            bits.put_code(0, 7);
            bits.put_code(0, 5);
            bits.put(0, 2); // the first is of one command
        }
        bits.put_count(1); // and of distances
        bits.put(0, 6); // plain distances
        bits.put(0, 2); // a context mode
        bits.put_count(*literals);
        bits.put(0, 1); // a context map without runs
        bits.put_code(0, literals.next_power_of_two().ilog2() as usize);
        bits.put(0, 1); // not moved to front
        bits.put_count(1); // trees of distances
        for _ in 0..*literals {
            bits.put_code((*letter).into(), 8);
        }
        for _ in 0..*commands {
            bits.put_code(8, 10); // a literal
        }
        bits.put_code(0, 6);
    }
    bits.put(0b11, 2); // the last, and empty
    bits.bytes()
}

#[test]
fn brotli_has_the_memory_again_that_it_gave_back() {
    // Each of these asks for larger tables, in all for more than there is.
    let coded = of_trees(&[(40, 1, b'a'), (60, 1, b'b'), (80, 1, b'c'), (100, 1, b'd')]);
    assert_eq!(decode("br", [coded.as_slice()]), (Progress::Done, b"abcd".to_vec()));
}

#[test]
fn what_brotli_has_at_a_time_is_bounded() {
    for trees in [(100, 1), (2, 100), (100, 65)] {
        let coded = of_trees(&[(trees.0, trees.1, b'a')]);
        assert_eq!(decode("br", [coded.as_slice()]), (Progress::Done, b"a".to_vec()), "{trees:?}");
    }
    assert_eq!(decode("br", [of_trees(&[(100, 100, b'a')]).as_slice()]).0, Progress::Failed);
}
