use flate2::Crc;

use super::Progress;
use super::deflate::Inflate;
use super::sink::Sink;

const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;

const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// The members of a gzip body (RFC 1952). The frame around each is read here, since flate2 reads it only where it
/// also holds the output.
#[derive(Debug)]
pub(super) struct Gzip {
    at: At,
    flags: u8,
    inflate: Option<Inflate>,
    crc: Crc,
    /// Whether a member was read to its end.
    whole: bool,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The ten bytes that every header has, by number.
    Header(u8),
    ExtraLength,
    ExtraLengthHigh(u8),
    Extra(u16),
    Name,
    Comment,
    HeaderCrc,
    HeaderCrcHigh,
    Body,
    /// Checksum and length, as read so far.
    Trailer {
        read: u8,
        value: u64,
    },
}

impl Default for Gzip {
    fn default() -> Self {
        Self { at: At::Header(0), flags: 0, inflate: None, crc: Crc::new(), whole: false }
    }
}

impl Gzip {
    pub(super) fn decode(&mut self, mut input: &[u8], sink: &mut Sink) -> Progress {
        loop {
            if matches!(self.at, At::Body) {
                match self.inflate(&mut input, sink) {
                    Progress::Done => self.at = At::Trailer { read: 0, value: 0 },
                    other => return other,
                }
            }
            if sink.is_full() {
                return Progress::Done;
            }
            let Some(byte) = input.split_off_first() else { return Progress::More };
            match self.frame(*byte) {
                Some(next) => self.at = next,
                // What follows the last member is padding or noise, and no business of ours.
                None if self.whole => return Progress::Done,
                None => return Progress::Failed,
            }
        }
    }

    fn inflate(&mut self, input: &mut &[u8], sink: &mut Sink) -> Progress {
        let before = sink.bytes().len();
        let said = self.inflate.get_or_insert_with(|| Inflate::new(false)).decode(input, sink);
        self.crc.update(sink.bytes().get(before..).unwrap_or_default());
        said
    }

    /// Where a byte of the frame leads; `None` where it may not stand there.
    fn frame(&mut self, byte: u8) -> Option<At> {
        match self.at {
            At::Header(0) => (byte == MAGIC[0]).then_some(At::Header(1)),
            At::Header(1) => (byte == MAGIC[1]).then_some(At::Header(2)),
            At::Header(2) => (byte == DEFLATE).then_some(At::Header(3)),
            At::Header(3) => {
                self.flags = byte;
                (byte & RESERVED == 0).then_some(At::Header(4))
            }
            At::Header(9) => self.optional(EXTRA),
            At::Header(number) => Some(At::Header(number.saturating_add(1))),
            At::ExtraLength => Some(At::ExtraLengthHigh(byte)),
            At::ExtraLengthHigh(low) => self.extra(u16::from_le_bytes([low, byte])),
            At::Extra(left) => self.extra(left.saturating_sub(1)),
            At::Name if byte != 0 => Some(At::Name),
            At::Name => self.optional(COMMENT),
            At::Comment if byte != 0 => Some(At::Comment),
            At::Comment => self.optional(HEADER_CRC),
            At::HeaderCrc => Some(At::HeaderCrcHigh),
            At::HeaderCrcHigh | At::Body => Some(self.begin()),
            At::Trailer { read, value } => self.trailer(read, value, byte),
        }
    }

    /// The first optional field of a header from `field` on, or the body.
    fn optional(&mut self, field: u8) -> Option<At> {
        let has = |flag| self.flags & flag != 0;
        Some(match field {
            EXTRA if has(EXTRA) => At::ExtraLength,
            EXTRA | NAME if has(NAME) => At::Name,
            EXTRA | NAME | COMMENT if has(COMMENT) => At::Comment,
            _ if has(HEADER_CRC) => At::HeaderCrc,
            _ => self.begin(),
        })
    }

    fn extra(&mut self, left: u16) -> Option<At> {
        if left == 0 { self.optional(NAME) } else { Some(At::Extra(left)) }
    }

    fn begin(&mut self) -> At {
        if let Some(inflate) = &mut self.inflate {
            inflate.reset();
        }
        self.crc.reset();
        At::Body
    }

    fn trailer(&mut self, read: u8, value: u64, byte: u8) -> Option<At> {
        // Little-endian: each byte comes in at the top.
        let value = value >> 8 | u64::from(byte) << 56;
        if read < 7 {
            return Some(At::Trailer { read: read.saturating_add(1), value });
        }
        let expected = u64::from(self.crc.amount()) << 32 | u64::from(self.crc.sum());
        self.whole = value == expected;
        self.whole.then_some(At::Header(0))
    }
}
