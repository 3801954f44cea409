//! The request body of an attempt that may be sent again.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::BoxError;
use super::tape::{Reader, Tape, into_bytes};

/// The request body of one attempt.
///
/// | made by | reads | costs |
/// |---|---|---|
/// | [`Replay::plain`] | the body | nothing; cannot be sent again |
/// | [`Replay::record`], body at its end already | nothing | nothing |
/// | [`Replay::record`] | the body, and keeps up to a cap | one allocation, the frames kept, an uncontended lock a frame |
/// | [`Tape::rewind`] | what was kept, then the rest | a lock a frame |
///
/// [`Body::size_hint`] and [`Body::is_end_stream`] are the original's on the first attempt and on every later one,
/// so `content-length` comes out the same.
///
/// Its error is the original body's, or one that says that a later attempt has [superseded](Tape::rewind) this one.
pub struct Replay<B> {
    source: Source<B>,
}

enum Source<B> {
    Plain(B),
    Empty,
    Taped(Reader<B>),
}

impl<B> Replay<B> {
    /// Passes `body` through.
    #[must_use]
    pub const fn plain(body: B) -> Self {
        Self { source: Source::Plain(body) }
    }

    pub(super) const fn empty() -> Self {
        Self { source: Source::Empty }
    }

    pub(super) const fn taped(reader: Reader<B>) -> Self {
        Self { source: Source::Taped(reader) }
    }
}

impl<B: Body> Replay<B> {
    /// The first attempt's body, and the tape that makes those of later attempts.
    ///
    /// At most `cap` bytes of data are kept; trailers are kept besides. Where `body` announces more than that,
    /// nothing is kept at all. Past the cap what was kept is freed at once, and this attempt goes on. Frames are
    /// kept as they came, without a copy: one that is a slice of a larger buffer keeps that buffer.
    #[must_use]
    pub fn record(body: B, cap: usize) -> (Self, Tape<B>) {
        if body.is_end_stream() {
            return (Self::plain(body), Tape::blank());
        }
        let (reader, tape) = Tape::record(body, cap);
        (Self::taped(reader), tape)
    }
}

impl<B> Body for Replay<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.get_mut().source {
            Source::Plain(body) => {
                Pin::new(body).poll_frame(cx).map(|next| Some(next?.map(into_bytes).map_err(Into::into)))
            }
            Source::Empty => Poll::Ready(None),
            Source::Taped(reader) => reader.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Plain(body) => body.is_end_stream(),
            Source::Empty => true,
            Source::Taped(reader) => reader.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Plain(body) => body.size_hint(),
            Source::Empty => SizeHint::with_exact(0),
            Source::Taped(reader) => reader.size_hint(),
        }
    }
}

impl<B> fmt::Debug for Replay<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Plain(_) => "plain",
            Source::Empty => "empty",
            Source::Taped(_) => "taped",
        };
        f.debug_struct("Replay").field("source", &format_args!("{source}")).finish_non_exhaustive()
    }
}
