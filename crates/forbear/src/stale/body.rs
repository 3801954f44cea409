use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::tee::Tee;
use crate::body::{BoxError, into_bytes};

pin_project! {
    /// A response body that comes from the vendor or from memory.
    pub struct StaleBody<RB> {
        #[pin]
        inner: Inner<RB>,
        size: SizeHint,
    }
}

pin_project! {
    #[project = InnerProj]
    enum Inner<RB> {
        Stored { bytes: Option<Bytes> },
        Live { #[pin] body: RB },
        // Stored while it passes.
        Passing { tee: Tee<RB> },
    }
}

impl<RB> StaleBody<RB> {
    pub(super) fn stored(bytes: Bytes) -> Self {
        let size = SizeHint::with_exact(bytes.len() as u64);
        Self { inner: Inner::Stored { bytes: Some(bytes).filter(|bytes| !bytes.is_empty()) }, size }
    }

    /// Without a body, as the answer to HEAD; its length is what `Content-Length` says.
    pub(super) fn none() -> Self {
        Self::stored(Bytes::new())
    }

    pub(super) fn passing(tee: Tee<RB>, size: SizeHint) -> Self {
        Self { inner: Inner::Passing { tee }, size }
    }
}

impl<RB: Body> StaleBody<RB> {
    pub(super) fn live(body: RB) -> Self {
        let size = body.size_hint();
        Self { inner: Inner::Live { body }, size }
    }
}

/// A frame whose data are `Bytes`, whatever they were before.
pub(super) fn as_bytes<D: Buf, E: Into<BoxError>>(
    frame: Result<Frame<D>, E>,
) -> Result<Frame<Bytes>, BoxError> {
    frame.map(into_bytes).map_err(Into::into)
}

/// What is left of a body of this size after so many bytes. One that is longer than it said leaves nothing to be said.
fn without(size: &SizeHint, bytes: u64) -> SizeHint {
    let mut left = SizeHint::new();
    match size.upper().map(|upper| upper.checked_sub(bytes)) {
        Some(None) => return left,
        Some(Some(upper)) => left.set_upper(upper),
        None => {}
    }
    left.set_lower(size.lower().saturating_sub(bytes));
    left
}

impl<RB: Body> Body for StaleBody<RB>
where
    RB::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        match this.inner.project() {
            InnerProj::Stored { bytes } => {
                *this.size = SizeHint::with_exact(0);
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            InnerProj::Live { body } => body.poll_frame(cx).map(|frame| frame.map(as_bytes)),
            InnerProj::Passing { tee } => {
                let frame = ready!(tee.poll_frame(cx));
                let length = frame.as_ref().and_then(|frame| Some(frame.as_ref().ok()?.data_ref()?.len()));
                *this.size = without(this.size, length.unwrap_or_default() as u64);
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Stored { bytes } => bytes.is_none(),
            Inner::Live { body } => body.is_end_stream(),
            Inner::Passing { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Live { body } => body.size_hint(),
            Inner::Stored { .. } | Inner::Passing { .. } => self.size,
        }
    }
}

impl<RB> fmt::Debug for StaleBody<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = match &self.inner {
            Inner::Stored { .. } => "memory",
            Inner::Live { .. } | Inner::Passing { .. } => "the vendor",
        };
        f.debug_struct("StaleBody").field("from", &from).finish_non_exhaustive()
    }
}
