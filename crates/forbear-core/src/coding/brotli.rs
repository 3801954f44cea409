use std::fmt;

use brotli_decompressor::{
    Allocator, BrotliDecompressStream, BrotliResult, BrotliState, HuffmanCode, SliceWrapper, StandardAlloc,
};

use super::Progress;
use super::sink::Sink;

/// The coding `br`.
pub(super) struct Brotli(Box<State>);

type State = BrotliState<Capped<u8>, Capped<u32>, Capped<HuffmanCode>>;

/// For the ring buffer, which is as long as what was decoded and is announced next, and maps from contexts to trees.
/// It is enough for the 128 KiB of a large page in one piece.
const BYTES: usize = 256 * 1024;
/// For the places of trees in tables, of which a body has at most 768.
const PLACES: usize = 64 * 1024;
/// For tables of codes. A body of 16 KiB has a few trees of some KiB each; one can ask for 3 MiB of them.
const CODES: usize = 320 * 1024;

impl Brotli {
    pub(super) fn new() -> Self {
        // Strict: without the large windows of RFC 9841, of up to 1 GiB.
        Self(Box::new(BrotliState::new_strict(Capped::new(BYTES), Capped::new(PLACES), Capped::new(CODES))))
    }

    /// One byte at a time. In longer pieces the decoder keeps what it has decoded until the piece is used up, and
    /// loses it where the piece ends badly, so the cut would decide what is seen.
    pub(super) fn decode(&mut self, input: &[u8], sink: &mut Sink) -> Progress {
        for byte in input {
            match self.one(&[*byte], sink) {
                Progress::More => {}
                ended => return ended,
            }
        }
        Progress::More
    }

    fn one(&mut self, byte: &[u8; 1], sink: &mut Sink) -> Progress {
        let (mut offset, mut left) = (0, 1);
        while !sink.is_full() {
            let said = sink.fill(|window| {
                let (mut room, mut written, mut total) = (window.len(), 0, 0);
                let said = BrotliDecompressStream(
                    &mut left,
                    &mut offset,
                    byte,
                    &mut room,
                    &mut written,
                    window,
                    &mut total,
                    &mut self.0,
                );
                (written, said)
            });
            match said {
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => return Progress::More,
                BrotliResult::ResultSuccess => return Progress::Done,
                BrotliResult::ResultFailure => return Progress::Failed,
            }
        }
        Progress::Done
    }
}

impl fmt::Debug for Brotli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brotli").finish_non_exhaustive()
    }
}

/// Allocates up to a cap, then gives empty cells, which the decoder takes for what they are: no memory.
struct Capped<T> {
    /// In items.
    left: usize,
    alloc: StandardAlloc,
    item: std::marker::PhantomData<fn() -> T>,
}

impl<T> Capped<T> {
    fn new(bytes: usize) -> Self {
        let left = bytes.checked_div(size_of::<T>()).unwrap_or_default();
        Self { left, alloc: StandardAlloc::default(), item: std::marker::PhantomData }
    }
}

impl<T: Clone + Default> Allocator<T> for Capped<T> {
    type AllocatedMemory = <StandardAlloc as Allocator<T>>::AllocatedMemory;

    fn alloc_cell(&mut self, len: usize) -> Self::AllocatedMemory {
        match self.left.checked_sub(len) {
            Some(left) => {
                self.left = left;
                self.alloc.alloc_cell(len)
            }
            None => Self::AllocatedMemory::default(),
        }
    }

    fn free_cell(&mut self, cell: Self::AllocatedMemory) {
        self.left = self.left.saturating_add(cell.slice().len());
    }
}
