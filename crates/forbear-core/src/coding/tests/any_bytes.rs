//! Whatever comes, however it is cut.

use proptest::prelude::*;

use super::encode::{decode, encode, noise};
use crate::dialect::Dialect;

fn codings() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "identity",
        "gzip",
        "deflate",
        "br",
        "zstd",
        "gzip, br",
        "br, gzip",
        "zstd, deflate",
        "gzip, gzip, gzip",
        "br, zstd, br",
    ])
}

/// Some text and some noise, up to a multiple of what is looked at.
fn sent() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(any::<u8>(), 1..40), 0..1_500_usize, 0..6_000_usize)
        .prop_map(|(text, times, length)| [text.repeat(times), noise(length)].concat())
}

/// `bytes` in pieces whose lengths are taken from `lengths` in turn.
fn pieces<'a>(mut bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        let (piece, rest) = bytes.split_at(bytes.len().min(*length));
        pieces.push(piece);
        bytes = rest;
        if bytes.is_empty() {
            break;
        }
    }
    pieces
}

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(0..50_usize, 1..8).prop_map(|mut some| {
            some.push(7);
            some
        })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_bytes_in_any_pieces(
        codings in codings(), bytes in prop::collection::vec(any::<u8>(), 0..600), lengths in lengths()
    ) {
        let whole = decode(codings, [bytes.as_slice()]);
        prop_assert!(whole.1.len() <= Dialect::MAX_BODY);
        prop_assert_eq!(decode(codings, pieces(&bytes, &lengths)), whole);
    }

    #[test]
    fn a_coded_body_comes_back_up_to_the_limit(codings in codings(), sent in sent(), lengths in lengths()) {
        let coded = encode(codings, &sent);
        let (_, decoded) = decode(codings, pieces(&coded, &lengths));
        prop_assert_eq!(decoded.as_slice(), &sent[..sent.len().min(Dialect::MAX_BODY)]);
    }

    /// Bytes changed, added, and left out: close enough to be decoded for a while.
    #[test]
    fn a_damaged_body_in_any_pieces(
        codings in codings(),
        sent in sent(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..4),
        lengths in lengths(),
    ) {
        let mut coded = encode(codings, &sent);
        for (at, byte, what) in damage {
            match what {
                0 => coded.insert(at.index(coded.len().saturating_add(1)), byte),
                _ if coded.is_empty() => {}
                1 => drop(coded.remove(at.index(coded.len()))),
                _ => {
                    let at = at.index(coded.len());
                    coded[at] = byte;
                }
            }
        }
        let whole = decode(codings, [coded.as_slice()]);
        prop_assert!(whole.1.len() <= Dialect::MAX_BODY);
        prop_assert_eq!(decode(codings, pieces(&coded, &lengths)), whole);
    }
}
