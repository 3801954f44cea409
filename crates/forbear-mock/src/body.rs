//! The body of an answer, whole or with its faults.

use std::fmt;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::Reply;
use crate::fault::{Fault, Pace};
use crate::limiter::Slot;
use crate::wire::HalfClose;

/// The body of a [`MockService`](crate::MockService)'s answer.
///
/// It fails where the reply says so, with an [`io::Error`] of kind [`ErrorKind::UnexpectedEof`]; slow bodies keep
/// tokio's time, paused or not. While it is neither read to its end nor dropped, the attempt counts as in flight for
/// [`Limiter::concurrency`](crate::Limiter::concurrency).
pub struct MockBody {
    rest: Bytes,
    /// Bytes that the head promises and nobody sends; 0 for a body that ends well.
    missing: usize,
    pace: Option<(Pace, Pin<Box<Sleep>>)>,
    /// What was sent has to leave the server's buffer before the body fails.
    flush: bool,
    failed: bool,
    slots: Vec<Slot>,
    /// Ends the connection's sending half when the body is dropped.
    half_close: Option<HalfClose>,
}

impl MockBody {
    pub(crate) fn new(reply: &Reply, slots: Vec<Slot>) -> Self {
        let mut rest = reply.payload().clone();
        let claimed = reply.claimed_length();
        let promised = claimed.unwrap_or(rest.len());
        rest.truncate(promised);
        let mut missing = promised - rest.len();
        if let Some(Fault::CloseInBody(sent)) = reply.fault() {
            rest.truncate(claimed.map_or(sent, |claimed| sent.min(claimed.saturating_sub(1))));
            missing = promised.saturating_sub(rest.len()).max(usize::from(claimed.is_none()));
        }
        let pace = reply.pace().filter(|_| !rest.is_empty()).map(|pace| (pace, Box::pin(sleep(pace.every))));
        let mut body = Self { rest, missing, pace, flush: false, failed: false, slots, half_close: None };
        body.let_go_at_end();
        body
    }

    /// For an answer on a socket, whose bytes pass through a buffer.
    pub(crate) fn flushed(mut self) -> Self {
        self.flush = true;
        self
    }

    pub(crate) fn half_close(mut self, half_close: HalfClose) -> Self {
        self.half_close = Some(half_close);
        self
    }

    /// The body of an answer that has none on a socket, whatever its reply says.
    pub(crate) fn withheld(mut self) -> Self {
        self.rest.clear();
        self.missing = 0;
        self.let_go_at_end();
        self
    }

    fn let_go_at_end(&mut self) {
        if self.is_end_stream() {
            self.slots.clear();
        }
    }

    fn poll_failure(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Error>> {
        if self.missing == 0 || self.failed {
            return Poll::Ready(None);
        }
        if std::mem::take(&mut self.flush) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.failed = true;
        self.let_go_at_end();
        let said = "the mock vendor closed the connection in the body";
        Poll::Ready(Some(io::Error::new(ErrorKind::UnexpectedEof, said)))
    }
}

impl Body for MockBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            return this.poll_failure(cx).map(|failure| failure.map(Err));
        }
        let mut piece = this.rest.len();
        if let Some((pace, due)) = &mut this.pace {
            ready!(due.as_mut().poll(cx));
            due.set(sleep(pace.every));
            piece = piece.min(pace.piece);
        }
        let piece = this.rest.split_to(piece);
        this.let_go_at_end();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && (self.missing == 0 || self.failed)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len().saturating_add(self.missing) as u64)
    }
}

impl fmt::Debug for MockBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockBody")
            .field("rest", &self.rest.len())
            .field("missing", &self.missing)
            .finish_non_exhaustive()
    }
}
