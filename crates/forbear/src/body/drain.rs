//! What becomes of the body of a response that nobody will read.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Buf;
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::Instant;

use super::until::Until;

pin_project! {
    /// Reads the rest of a discarded response body and throws it away, then drops it.
    ///
    /// Resolves to whether the end was reached. Where it was, the connection can be used for the next attempt;
    /// where it was not, HTTP/1 has to close it and HTTP/2 resets the stream. A body that announces more than the
    /// limit is dropped without reading, one that fails when it fails.
    ///
    /// Memory: one frame at a time. An empty frame counts as one byte, so a body that sends nothing else is let go
    /// too.
    ///
    /// Cancellation: dropping it drops the body. Polled again after it resolved, it stays pending.
    #[must_use = "futures do nothing unless polled"]
    pub struct Drain<RB> {
        // `None` once resolved.
        #[pin]
        body: Option<RB>,
        left: usize,
        until: Until,
    }
}

impl<RB: Body> Drain<RB> {
    /// Reads up to `limit` bytes of `body` until `deadline`.
    ///
    /// The timer is started only where the body keeps it waiting; it is tokio's, so polling needs its runtime then.
    pub const fn new(body: RB, limit: usize, deadline: Instant) -> Self {
        Self { body: Some(body), left: limit, until: Until::new(deadline) }
    }
}

impl<RB: Body> Future for Drain<RB> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let mut this = self.project();
        let Some(mut body) = this.body.as_mut().as_pin_mut() else { return Poll::Pending };
        let ended = loop {
            if body.is_end_stream() {
                break true;
            }
            if usize::try_from(body.size_hint().lower()).map_or(true, |lower| lower > *this.left) {
                break false;
            }
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let read = frame.data_ref().map_or(0, Buf::remaining).max(1);
                    match this.left.checked_sub(read) {
                        Some(left) => *this.left = left,
                        None => break false,
                    }
                }
                Poll::Ready(Some(Err(_))) => break false,
                Poll::Ready(None) => break true,
                Poll::Pending if this.until.poll(cx).is_ready() => break false,
                Poll::Pending => return Poll::Pending,
            }
        };
        this.body.set(None);
        Poll::Ready(ended)
    }
}

impl<RB> fmt::Debug for Drain<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("left", &self.left).finish_non_exhaustive()
    }
}
