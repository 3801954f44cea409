//! What a coded body says: `Content-Encoding` undone, for as much of a body as a dialect reads.
//!
//! Vendors compress their errors too. A [`Decoder`] is fed the body as it comes in, in pieces of any size, and gives
//! the first [`Dialect::MAX_BODY`](crate::dialect::Dialect::MAX_BODY) bytes of what was coded. It decodes for a look
//! only: whoever wants the body gets the coded bytes from elsewhere, untouched.
//!
//! ```
//! use forbear_core::coding::{Decoder, Progress};
//! use http::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
//!
//! let headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static("identity"))]);
//! let mut decoder = Decoder::for_headers(&headers).expect("a coding that is known");
//! assert_eq!(decoder.push(br#"{"reason":"#), Progress::More);
//! assert_eq!(decoder.push(br#""inflight_limit"}"#), Progress::More);
//! assert_eq!(decoder.bytes(), br#"{"reason":"inflight_limit"}"#);
//! ```
//!
//! | coding | is read as | by |
//! |---|---|---|
//! | none, `identity` | it is | |
//! | `gzip`, `x-gzip` | RFC 1952, any number of members; what follows them is ignored | flate2, on `miniz_oxide` |
//! | `deflate` | RFC 1950, as RFC 9110 section 8.4.1.2 wants it, or bare RFC 1951, as many servers send it | flate2 |
//! | `br` | RFC 7932, without the large windows that are no part of it | brotli-decompressor |
//! | `zstd` | RFC 8878, any number of frames, with the window of RFC 9659 | mzstd |
//! | a list of these, at most [`Decoder::MAX_CODINGS`] | in reverse: the last that was applied is undone first | |
//! | another one | not at all: the head alone counts | |
//!
//! The four need the feature `decompression` (of `forbear`, where it is on by default); without it they are among the
//! others.
//!
//! # A hostile body
//!
//! A body that cannot be decoded says nothing, however much of it could be. One that is cut off says what it said
//! until then. How it was cut into pieces makes no difference.
//!
//! | bound | of a look |
//! |---|---|
//! | decoded bytes | 16 KiB, [`Dialect::MAX_BODY`](crate::dialect::Dialect::MAX_BODY) |
//! | coded bytes, and bytes between two codings | 17 KiB, [`Decoder::MAX_CODED`] |
//! | memory, deflate and gzip | 45 KiB: the window of 32 KiB, and tables |
//! | memory, br | 640 KiB, and an allocator that refuses more, as for a body that announces over 128 KiB at once; its window of up to 16 MiB is not allocated |
//! | memory, zstd | 512 KiB: two blocks of 128 KiB, and tables; a window above 8 MiB is refused, a smaller one is not allocated |
//!
//! Work follows the coded bytes, of which there are few, not what they claim to unfold to: the small body that vendors
//! send takes some 10 µs, one made to be slow some ms.
//!
//! # Why these crates
//!
//! All three are safe Rust without a line of C, take input in any pieces, and give what they have decoded at once.
//! flate2 is the Rust project's own, and its `miniz_oxide` has no `unsafe`. brotli-decompressor is the one that nearly
//! everybody uses; since 6.1 it allocates what a body fills instead of what its header claims. Of the zstd decoders
//! ruzstd is older, but holds back up to a window of what it has decoded until the frame ends, which a stream never
//! does, and keeps its ring buffer with `unsafe`; mzstd forbids `unsafe` and grows its history with the output.
//! async-compression's codecs would bring C for zstd.

// Without the decoders there is nothing to choose from, and the same interface.
#[cfg_attr(not(feature = "decompression"), path = "no_codec.rs")]
mod codec;
mod decoder;
mod names;
mod sink;

#[cfg(feature = "decompression")]
mod brotli;
#[cfg(feature = "decompression")]
mod deflate;
#[cfg(feature = "decompression")]
mod gzip;
#[cfg(feature = "decompression")]
mod zstd;

pub use decoder::{Decoder, Progress};

#[cfg(feature = "decompression")]
#[cfg(test)]
mod tests;
