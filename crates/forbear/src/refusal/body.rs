use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body behind a [`RefusalResponseLayer`](super::RefusalResponseLayer): the handler's, or a problem's.
    pub struct RefusalBody<B> {
        #[pin]
        inner: Inner<B>,
    }
}

pin_project! {
    #[project = InnerProjection]
    enum Inner<B> {
        Handler { #[pin] body: B },
        Problem { text: Bytes },
    }
}

impl<B> RefusalBody<B> {
    pub(super) const fn handler(body: B) -> Self {
        Self { inner: Inner::Handler { body } }
    }
}

impl<B> From<String> for RefusalBody<B> {
    fn from(text: String) -> Self {
        Self { inner: Inner::Problem { text: text.into() } }
    }
}

impl<B: Default> Default for RefusalBody<B> {
    fn default() -> Self {
        Self::handler(B::default())
    }
}

impl<B> fmt::Debug for RefusalBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.inner {
            Inner::Handler { .. } => "RefusalBody(handler's)",
            Inner::Problem { .. } => "RefusalBody(problem)",
        })
    }
}

impl<B: Body<Data = Bytes>> Body for RefusalBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.project().inner.project() {
            InnerProjection::Handler { body } => body.poll_frame(cx),
            InnerProjection::Problem { text } if text.is_empty() => Poll::Ready(None),
            InnerProjection::Problem { text } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(text))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Handler { body } => body.is_end_stream(),
            Inner::Problem { text } => text.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Handler { body } => body.size_hint(),
            Inner::Problem { text } => SizeHint::with_exact(u64::try_from(text.len()).unwrap_or(u64::MAX)),
        }
    }
}
