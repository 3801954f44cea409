/// How much a decoder writes at a time.
#[cfg(feature = "decompression")]
const WINDOW: usize = 512;

/// Where a decoder puts what it decodes: up to a limit, after which it has seen enough.
#[derive(Debug)]
pub(super) struct Sink {
    bytes: Vec<u8>,
    /// Bytes that still fit.
    room: usize,
    /// Decoders write over initialised memory, which is initialised once here.
    #[cfg(feature = "decompression")]
    window: [u8; WINDOW],
}

impl Sink {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            room: limit,
            #[cfg(feature = "decompression")]
            window: [0; WINDOW],
        }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.room == 0
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the bytes out; the room that they took stays taken.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Copies of `bytes` what fits.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(..self.room).unwrap_or(bytes);
        self.bytes.extend_from_slice(bytes);
        self.room = self.room.saturating_sub(bytes.len());
    }

    /// Has `write` write into a part of the room, and say how many bytes it wrote, and something else.
    #[cfg(feature = "decompression")]
    pub(super) fn fill<T>(&mut self, write: impl FnOnce(&mut [u8]) -> (usize, T)) -> T {
        let fits = WINDOW.min(self.room);
        let window = self.window.get_mut(..fits).unwrap_or_default();
        let (written, said) = write(window);
        let written = self.window.get(..written.min(fits)).unwrap_or_default();
        self.bytes.extend_from_slice(written);
        self.room = self.room.saturating_sub(written.len());
        said
    }
}
