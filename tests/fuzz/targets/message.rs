//! An answer as a fuzzer can write it: `429 openai`, header lines, an empty line, the body.

use forbear_core::dialect::Dialect;
use forbear_core::presets::NAMES;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// More lines than this are left out: time is to be spent on what a line says.
const MAX_LINES: usize = 64;

/// An answer. Whatever cannot be in one was left out.
#[derive(Debug)]
pub struct Message<'i> {
    /// 429 where the input has none.
    pub status: StatusCode,
    /// Whose answer it is.
    pub vendor: &'static str,
    /// In their order.
    pub lines: Vec<(HeaderName, HeaderValue)>,
    /// What stands behind the empty line.
    pub body: &'i [u8],
}

impl<'i> Message<'i> {
    /// Reads any bytes.
    #[must_use]
    pub fn read(input: &'i [u8]) -> Self {
        Self::with_names(input, |name| HeaderName::from_bytes(name).ok())
    }

    /// Reads any bytes; `name` says which header a line has.
    pub fn with_names(input: &'i [u8], name: impl Fn(&[u8]) -> Option<HeaderName>) -> Self {
        let (first, mut rest) = first_line(input);
        let (code, wanted) = split(first, b' ').unwrap_or((first, b""));
        let code = std::str::from_utf8(code).ok().and_then(|code| code.parse::<u16>().ok());
        let status = code.and_then(|code| StatusCode::from_u16(code).ok());
        let mut lines = Vec::new();
        loop {
            let (line, behind) = first_line(rest);
            rest = behind;
            if line.is_empty() {
                break;
            }
            let Some((before, value)) = split(line, b':') else { continue };
            if let (Some(name), Ok(value)) = (name(before), HeaderValue::from_bytes(value.trim_ascii_start()))
                && lines.len() < MAX_LINES
            {
                lines.push((name, value));
            }
        }
        Self {
            status: status.unwrap_or(StatusCode::TOO_MANY_REQUESTS),
            vendor: vendor(wanted),
            lines,
            body: rest,
        }
    }

    /// The lines in their order.
    #[must_use]
    pub fn headers(&self) -> HeaderMap {
        headers(self.lines.iter())
    }

    /// The dialect of the vendor.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        Dialect::named(self.vendor).unwrap_or_else(|_| Dialect::standard())
    }
}

/// These lines.
pub fn headers<'l>(lines: impl Iterator<Item = &'l (HeaderName, HeaderValue)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name, value.clone());
    }
    headers
}

/// The vendor of this name, else some vendor.
#[must_use]
pub fn vendor(name: &[u8]) -> &'static str {
    let known = NAMES.iter().find(|known| known.as_bytes() == name);
    known.copied().unwrap_or_else(|| pick(NAMES, name))
}

/// One of `all`, always the same for the same bytes.
pub fn pick<T: Copy>(all: &[T], bytes: &[u8]) -> T {
    // FNV-1a.
    let hash =
        bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    all[hash as usize % all.len()]
}

/// The first line and what follows; no more than what there is.
#[must_use]
pub fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    split(input, b'\n').unwrap_or((input, b""))
}

fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}
