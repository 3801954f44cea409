//! A bounded look at the start of a response body.

use std::fmt;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use http_body::Body;
use tokio::time::Instant;

use super::Peeked;
use super::peeked::Cold;
use super::until::Until;

/// How many pieces of one frame are looked at; a frame of `Bytes` has one.
const PIECES: usize = 16;

/// Reads the start of a response body, and resolves to the whole body and a copy of the bytes seen.
///
/// It stops at the limit, at the end, trailers or an error of the body, and at the deadline, whichever is first.
/// A body that fails or stalls only shortens the look: what it does is what the caller of the body will see.
///
/// Frames are not consumed by the look, which has one consequence: of a frame in many pieces only as much is seen
/// as its [`Buf::chunks_vectored`] shows at once, and the look ends there.
///
/// Memory: the frames that hold the bytes seen, and the copy, at most the limit. An empty frame counts as one
/// byte, so a body that sends nothing else ends the look too.
///
/// Cancellation: dropping it drops the body. Polled again after it resolved, it stays pending.
#[must_use = "futures do nothing unless polled"]
pub struct Peek<RB>
where
    RB: Body,
{
    /// `None` once resolved.
    cold: Option<Pin<Box<Cold<RB>>>>,
    seen: BytesMut,
    left: usize,
    until: Until,
}

impl<RB: Body> Peek<RB> {
    /// Looks at up to `limit` bytes of `body` until `deadline`.
    ///
    /// The timer is started only where the body keeps it waiting; it is tokio's, so polling needs its runtime then.
    pub fn new(body: RB, limit: usize, deadline: Instant) -> Self {
        let cold = Some(Box::pin(Cold::new(body)));
        Self { cold, seen: BytesMut::new(), left: limit, until: Until::new(deadline) }
    }
}

impl<RB: Body> Future for Peek<RB> {
    type Output = (Peeked<RB>, Bytes);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(mut cold) = this.cold.take() else { return Poll::Pending };
        while this.left > 0 {
            let (seen, left) = (&mut this.seen, &mut this.left);
            match cold.as_mut().poll_hold(cx, |data| look(data, left, seen)) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => break,
                Poll::Pending if this.until.poll(cx).is_ready() => break,
                Poll::Pending => {
                    this.cold = Some(cold);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready((Peeked::cold(cold), std::mem::take(&mut this.seen).freeze()))
    }
}

impl<RB: Body> fmt::Debug for Peek<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peek")
            .field("seen", &self.seen.len())
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// Copies up to `left` bytes of `data` without consuming them. False where bytes in between cannot be seen, after
/// which any more would be out of place.
fn look(data: &impl Buf, left: &mut usize, seen: &mut BytesMut) -> bool {
    let mut pieces = [IoSlice::new(&[]); PIECES];
    let filled = data.chunks_vectored(&mut pieces);
    let mut wanted = data.remaining().min(*left);
    *left = left.saturating_sub(wanted.max(1));
    for piece in pieces.iter().take(filled) {
        let piece = piece.get(..wanted).unwrap_or(piece);
        seen.extend_from_slice(piece);
        wanted = wanted.saturating_sub(piece.len());
    }
    wanted == 0
}
