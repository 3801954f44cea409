//! The response body, whether it was looked at or not.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::tape::longer;

pin_project! {
    /// A response body that may have been looked at by [`Peek`](super::Peek).
    ///
    /// Every frame, trailer and error of the original comes out in its order. One that was not looked at is kept
    /// inline: no allocation, and one branch a frame.
    pub struct Peeked<RB>
    where
        RB: Body,
    {
        #[pin]
        state: State<RB>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<RB>
    where
        RB: Body,
    {
        Plain { #[pin] body: RB },
        Cold { cold: Pin<Box<Cold<RB>>> },
    }
}

impl<RB: Body> Peeked<RB> {
    /// A body nobody looks at.
    #[must_use]
    pub const fn plain(body: RB) -> Self {
        Self { state: State::Plain { body } }
    }

    pub(super) const fn cold(cold: Pin<Box<Cold<RB>>>) -> Self {
        Self { state: State::Cold { cold } }
    }
}

impl<RB: Body> Body for Peeked<RB> {
    type Data = RB::Data;
    type Error = RB::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<RB::Data>, RB::Error>>> {
        match self.project().state.project() {
            StateProj::Plain { body } => body.poll_frame(cx),
            StateProj::Cold { cold } => cold.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Plain { body } => body.is_end_stream(),
            State::Cold { cold } => cold.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Plain { body } => body.size_hint(),
            State::Cold { cold } => cold.size_hint(),
        }
    }
}

impl<RB: Body> fmt::Debug for Peeked<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Plain { .. } => "plain",
            State::Cold { .. } => "cold",
        };
        f.debug_struct("Peeked").field("state", &format_args!("{state}")).finish_non_exhaustive()
    }
}

pin_project! {
    /// A body and what was already taken out of it.
    pub(super) struct Cold<RB>
    where
        RB: Body,
    {
        #[pin]
        body: RB,
        held: VecDeque<Frame<RB::Data>>,
        failure: Option<RB::Error>,
        over: bool,
    }
}

impl<RB: Body> Cold<RB> {
    pub(super) const fn new(body: RB) -> Self {
        Self { body, held: VecDeque::new(), failure: None, over: false }
    }

    /// Takes one frame out of the body, shows its data to `look`, and holds it.
    ///
    /// Ready with whether there is more to see: not after the end, trailers or an error, nor where `look` says no.
    pub(super) fn poll_hold(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        look: impl FnOnce(&RB::Data) -> bool,
    ) -> Poll<bool> {
        let this = self.project();
        if this.body.is_end_stream() {
            return Poll::Ready(false);
        }
        Poll::Ready(match ready!(this.body.poll_frame(cx)) {
            Some(Ok(frame)) => {
                let more = frame.data_ref().is_some_and(look);
                this.held.push_back(frame);
                more
            }
            Some(Err(failure)) => {
                *this.failure = Some(failure);
                false
            }
            None => {
                *this.over = true;
                false
            }
        })
    }
}

impl<RB: Body> Body for Cold<RB> {
    type Data = RB::Data;
    type Error = RB::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<RB::Data>, RB::Error>>> {
        let this = self.project();
        if let Some(frame) = this.held.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if let Some(failure) = this.failure.take() {
            return Poll::Ready(Some(Err(failure)));
        }
        if *this.over { Poll::Ready(None) } else { this.body.poll_frame(cx) }
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty() && self.failure.is_none() && (self.over || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let held: usize = self.held.iter().filter_map(Frame::data_ref).map(Buf::remaining).sum();
        let rest = if self.over { SizeHint::with_exact(0) } else { self.body.size_hint() };
        longer(&rest, u64::try_from(held).unwrap_or(u64::MAX))
    }
}
