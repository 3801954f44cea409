//! A streamed upload that says what it was asked for, and how much of it is alive.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::adapters::Sent;

const PIECE: usize = 16 * 1024;

/// Bytes that were handed out and are not dropped yet.
#[derive(Clone, Default)]
pub(crate) struct Alive {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Alive {
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    fn piece(&self, from: usize, len: usize) -> Bytes {
        let now = self.now.fetch_add(len, Ordering::SeqCst) + len;
        self.most.fetch_max(now, Ordering::SeqCst);
        let data = (from..from + len).map(byte).collect();
        Bytes::from_owner(Piece { data, alive: self.now.clone() })
    }
}

struct Piece {
    data: Vec<u8>,
    alive: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.alive.fetch_sub(self.data.len(), Ordering::SeqCst);
    }
}

/// The byte of an upload at a place.
fn byte(at: usize) -> u8 {
    u8::try_from(at.wrapping_mul(31) % 251).unwrap()
}

/// All bytes of an upload of that length.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(byte).collect()
}

struct Upload {
    at: usize,
    len: usize,
    alive: Alive,
    announced: bool,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let (from, len) = (self.at, PIECE.min(self.len - self.at));
        self.at += len;
        Poll::Ready((len > 0).then(|| Ok(Frame::data(self.alive.piece(from, len)))))
    }

    fn size_hint(&self) -> SizeHint {
        if !self.announced {
            return SizeHint::default();
        }
        SizeHint::with_exact(u64::try_from(self.len - self.at).unwrap())
    }
}

/// A stream of no announced length.
pub(crate) fn upload(len: usize, alive: &Alive) -> Sent {
    Upload { at: 0, len, alive: alive.clone(), announced: false }.boxed()
}

/// The same, of an announced length.
pub(crate) fn announced(len: usize, alive: &Alive) -> Sent {
    Upload { at: 0, len, alive: alive.clone(), announced: true }.boxed()
}
