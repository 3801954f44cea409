use super::Progress;
use super::brotli::Brotli;
use super::deflate::Deflate;
use super::gzip::Gzip;
use super::sink::Sink;
use super::zstd::Zstd;

/// One coding that is undone.
///
/// What comes out, and how it ends, is a function of the bytes that went in, and not of how they were cut: decoders
/// that hold something back until an error shows are fed so that they cannot.
#[derive(Debug)]
pub(super) enum Codec {
    Gzip(Gzip),
    Deflate(Deflate),
    Brotli(Brotli),
    Zstd(Zstd),
}

impl Codec {
    /// The coding with this name (RFC 9110 section 8.4.1), where it can be undone.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("gzip") || is("x-gzip") {
            Some(Self::Gzip(Gzip::default()))
        } else if is("deflate") {
            Some(Self::Deflate(Deflate::default()))
        } else if is("br") {
            Some(Self::Brotli(Brotli::new()))
        } else if is("zstd") {
            Some(Self::Zstd(Zstd::new()))
        } else {
            None
        }
    }

    /// Decodes all of `input`, as far as `sink` has room.
    pub(super) fn decode(&mut self, input: &[u8], sink: &mut Sink) -> Progress {
        match self {
            Self::Gzip(gzip) => gzip.decode(input, sink),
            Self::Deflate(deflate) => deflate.decode(input, sink),
            Self::Brotli(brotli) => brotli.decode(input, sink),
            Self::Zstd(zstd) => zstd.decode(input, sink),
        }
    }
}
