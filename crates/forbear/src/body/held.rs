//! The frames of a request body, kept up to a cap.

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;

/// Frames shorter than this are merged when many come in a row.
const SMALL: usize = 512;
/// How many small frames in a row are merged into one.
const RUN: usize = 32;

/// What was read of a body so far, as long as its data fits the cap.
///
/// Data is shared with the attempt that read it, not copied. The exception is a long run of small frames: kept one
/// by one they would cost many times their bytes, so they are merged.
pub(super) struct Held {
    frames: Vec<Kept>,
    /// Data bytes in `frames`.
    bytes: usize,
    /// Data bytes that still fit; `None` where nothing is kept (any more).
    room: Option<usize>,
    whole: bool,
}

enum Kept {
    Data(Bytes),
    Trailers(Box<HeaderMap>),
}

impl Held {
    /// Keeps up to `cap` bytes of a body that announces at least `lower`; nothing where that cannot succeed.
    pub(super) fn new(cap: usize, lower: u64) -> Self {
        let hopeless = usize::try_from(lower).map_or(true, |lower| lower > cap);
        Self { frames: Vec::new(), bytes: 0, room: (!hopeless).then_some(cap), whole: true }
    }

    /// Whether everything that was read is still here.
    pub(super) const fn whole(&self) -> bool {
        self.whole
    }

    /// Data bytes kept.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Frames kept.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// A copy of frame `at` that shares its data.
    pub(super) fn get(&self, at: usize) -> Option<Frame<Bytes>> {
        self.frames.get(at).map(|kept| match kept {
            Kept::Data(data) => Frame::data(data.clone()),
            Kept::Trailers(trailers) => Frame::trailers(HeaderMap::clone(trailers)),
        })
    }

    /// Keeps `frame`, or frees everything where it no longer fits.
    ///
    /// Earlier frames may be merged: a position other than [`Held::len`] is void afterwards.
    pub(super) fn push(&mut self, frame: &Frame<Bytes>) {
        let kept = match (frame.data_ref(), frame.trailers_ref(), self.room) {
            (Some(data), ..) if data.is_empty() => return,
            (Some(data), _, Some(room)) => room.checked_sub(data.len()).map(|left| {
                self.room = Some(left);
                self.bytes = self.bytes.saturating_add(data.len());
                Kept::Data(data.clone())
            }),
            (_, Some(trailers), Some(_)) => Some(Kept::Trailers(Box::new(trailers.clone()))),
            _ => None,
        };
        match kept {
            Some(kept) => {
                self.frames.push(kept);
                self.merge_small();
            }
            None => self.lose(),
        }
    }

    /// Frees everything, keeps nothing more.
    pub(super) fn lose(&mut self) {
        *self = Self { frames: Vec::new(), bytes: 0, room: None, whole: false };
    }

    fn merge_small(&mut self) {
        let small = |kept: &&Kept| matches!(kept, Kept::Data(data) if data.len() < SMALL);
        let run = self.frames.iter().rev().take(RUN).take_while(small).count();
        if run < RUN {
            return;
        }
        let mut merged = Vec::with_capacity(SMALL * 2);
        for kept in self.frames.drain(self.frames.len().saturating_sub(run)..) {
            if let Kept::Data(data) = kept {
                merged.extend_from_slice(&data);
            }
        }
        merged.shrink_to_fit();
        self.frames.push(Kept::Data(merged.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(held: &Held) -> Vec<u8> {
        (0..held.len()).flat_map(|at| held.get(at).unwrap().into_data().unwrap()).collect()
    }

    #[test]
    fn many_small_frames_are_merged_and_stay_in_order() {
        let sent: Vec<u8> = (0..64 * 1024_u32).map(|n| (n % 251) as u8).collect();
        let mut held = Held::new(sent.len(), 0);
        for byte in &sent {
            held.push(&Frame::data(Bytes::copy_from_slice(&[*byte])));
        }
        assert!(held.whole());
        assert_eq!(held.bytes(), sent.len());
        assert!(held.len() <= sent.len() / SMALL + RUN, "{} frames are kept", held.len());
        assert_eq!(all(&held), sent);
    }

    #[test]
    fn large_frames_are_shared_not_copied() {
        let data = Bytes::from(vec![7; SMALL]);
        let mut held = Held::new(1 << 20, 0);
        for _ in 0..RUN * 2 {
            held.push(&Frame::data(data.clone()));
        }
        assert_eq!(held.len(), RUN * 2);
        assert_eq!(held.get(0).unwrap().into_data().unwrap().as_ptr(), data.as_ptr());
    }

    #[test]
    fn empty_frames_take_no_place() {
        let mut held = Held::new(0, 0);
        held.push(&Frame::data(Bytes::new()));
        assert!(held.whole());
        assert_eq!(held.len(), 0);
    }
}
