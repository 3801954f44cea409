use flate2::{Decompress, FlushDecompress, Status};

use super::Progress;
use super::sink::Sink;

/// The coding `deflate`: with the zlib header that belongs there, or without.
///
/// The first two bytes tell. A bare stream that looked like a header would begin with a stored block whose padding is
/// not zero, which no encoder writes.
#[derive(Debug, Default)]
pub(super) struct Deflate {
    first: Option<u8>,
    inflate: Option<Inflate>,
}

impl Deflate {
    pub(super) fn decode(&mut self, mut input: &[u8], sink: &mut Sink) -> Progress {
        if let Some(inflate) = &mut self.inflate {
            return inflate.decode(&mut input, sink);
        }
        let first = match self.first {
            Some(first) => first,
            None => match input.split_off_first() {
                Some(first) => *self.first.insert(*first),
                None => return Progress::More,
            },
        };
        let Some(second) = input.first() else { return Progress::More };
        let inflate = self.inflate.insert(Inflate::new(is_zlib(first, *second)));
        match inflate.decode(&mut [first].as_slice(), sink) {
            Progress::More => inflate.decode(&mut input, sink),
            ended => ended,
        }
    }
}

/// Whether two bytes are a zlib header (RFC 1950 section 2.2).
fn is_zlib(method: u8, flags: u8) -> bool {
    let window = method >> 4;
    method & 0x0f == 8 && window <= 7 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
}

/// A deflate stream.
#[derive(Debug)]
pub(super) struct Inflate(Decompress);

impl Inflate {
    pub(super) fn new(zlib: bool) -> Self {
        Self(Decompress::new(zlib))
    }

    /// Begins again with a bare stream.
    pub(super) fn reset(&mut self) {
        self.0.reset(false);
    }

    /// Decodes `input`, and leaves in it what lies behind the end of the stream. Done at that end, or where the sink
    /// is full.
    ///
    /// One byte at a time: in longer pieces what was decoded in front of an error is lost with it, so the cut would
    /// decide what is seen.
    pub(super) fn decode(&mut self, input: &mut &[u8], sink: &mut Sink) -> Progress {
        loop {
            if sink.is_full() {
                return Progress::Done;
            }
            let Some(byte) = input.split_off_first() else { return Progress::More };
            match self.one(&[*byte], sink) {
                Progress::More => {}
                ended => return ended,
            }
        }
    }

    fn one(&mut self, mut byte: &[u8], sink: &mut Sink) -> Progress {
        loop {
            let (before_in, before_out) = (self.0.total_in(), self.0.total_out());
            let said = sink.fill(|window| {
                let said = self.0.decompress(byte, window, FlushDecompress::None);
                (length(self.0.total_out().saturating_sub(before_out)), said)
            });
            if self.0.total_in() > before_in {
                byte = &[];
            }
            match said {
                _ if sink.is_full() => return Progress::Done,
                Ok(Status::StreamEnd) => return Progress::Done,
                Ok(_) if (self.0.total_in(), self.0.total_out()) == (before_in, before_out) => {
                    return Progress::More;
                }
                Ok(_) => {}
                Err(_) => return Progress::Failed,
            }
        }
    }
}

fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
