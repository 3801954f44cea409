//! A bounded look at the start of a response body.

use std::fmt;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use forbear_core::coding::{Decoder, Progress};
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
/// Memory: the frames that hold the bytes seen, and the copy, at most the limit; of a coded body [what its decoder
/// takes](forbear_core::coding), until the look is over. An empty frame counts as one byte, so a body that sends
/// nothing else ends the look too.
///
/// Cancellation: dropping it drops the body. Polled again after it resolved, it stays pending.
#[must_use = "futures do nothing unless polled"]
pub struct Peek<RB>
where
    RB: Body,
{
    /// `None` once resolved.
    cold: Option<Pin<Box<Cold<RB>>>>,
    /// Boxed, since a future that may look holds the place for it. `None` once resolved.
    decoder: Option<Box<Decoder>>,
    /// Bytes of the body that are still looked at.
    left: usize,
    until: Until,
    enough: fn(&[u8]) -> bool,
}

impl<RB: Body> Peek<RB> {
    /// Looks at up to `limit` bytes of `body` until `deadline`.
    ///
    /// The timer is started only where the body keeps it waiting; it is tokio's, so polling needs its runtime then.
    pub fn new(body: RB, limit: usize, deadline: Instant) -> Self {
        Self::decoded(body, Decoder::identity(limit), deadline)
    }

    /// Looks at `body` through `decoder`, as far as that goes, until `deadline`.
    ///
    /// What is seen is decoded; the body stays coded.
    pub fn decoded(body: RB, decoder: Decoder, deadline: Instant) -> Self {
        let cold = Some(Box::pin(Cold::new(body)));
        let left = decoder.left();
        Self { cold, decoder: Some(Box::new(decoder)), left, until: Until::new(deadline), enough: |_| false }
    }

    /// Ends the look once `enough` says so of what is seen.
    pub fn enough(mut self, enough: fn(&[u8]) -> bool) -> Self {
        self.enough = enough;
        self
    }
}

impl<RB: Body> Future for Peek<RB> {
    type Output = (Peeked<RB>, Bytes);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let (Some(mut cold), Some(mut decoder)) = (this.cold.take(), this.decoder.take()) else {
            return Poll::Pending;
        };
        while this.left > 0 {
            let left = &mut this.left;
            match cold.as_mut().poll_hold(cx, |data| look(data, left, &mut decoder)) {
                Poll::Ready(true) if (this.enough)(decoder.bytes()) => break,
                Poll::Ready(true) => {}
                Poll::Ready(false) => break,
                Poll::Pending if this.until.poll(cx).is_ready() => break,
                Poll::Pending => {
                    this.cold = Some(cold);
                    this.decoder = Some(decoder);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready((Peeked::cold(cold), decoder.into_bytes().into()))
    }
}

impl<RB: Body> fmt::Debug for Peek<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peek")
            .field("seen", &self.decoder.as_ref().map_or(0, |decoder| decoder.bytes().len()))
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// Shows `data` to `decoder` without consuming it. False where that has seen enough, or bytes in between cannot be seen,
/// after which any more would be out of place.
fn look(data: &impl Buf, left: &mut usize, decoder: &mut Decoder) -> bool {
    let mut pieces = [IoSlice::new(&[]); PIECES];
    let filled = data.chunks_vectored(&mut pieces);
    let mut hidden = data.remaining();
    *left = left.saturating_sub(hidden.max(1));
    let mut progress = Progress::More;
    for piece in pieces.iter().take(filled) {
        progress = decoder.push(piece);
        hidden = hidden.saturating_sub(piece.len());
    }
    hidden == 0 && progress == Progress::More
}
