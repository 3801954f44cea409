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
/// | [`Replay::plain`] | the body | nothing; cannot be sent again, unless it is at its end already |
/// | [`Replay::record`], body at its end already | nothing | nothing |
/// | [`Replay::record`] | the body, and keeps up to a cap | one allocation, the frames kept, an uncontended lock a frame |
/// | [`Tape::rewind`], [`Replay::try_clone`] | what was kept, then the rest | a lock a frame |
///
/// [`Body::size_hint`] and [`Body::is_end_stream`] are the original's on the first attempt and on every later one,
/// so `content-length` comes out the same.
///
/// Its error is the original body's, or one that says that a later attempt has [superseded](Tape::rewind) this one, or
/// that what was read before is not held any more.
///
/// # Sent again by another layer
///
/// A layer between [`RetryAfterLayer`](crate::RetryAfterLayer) and the gate, as `tower::retry` is, sends again what
/// failed for another reason than a limit. Its policy clones the body before the attempt, and asks the clone before it
/// decides to send it:
///
/// ```
/// use forbear::body::Replay;
/// use http::{Request, Response};
/// use tower::retry::Policy;
///
/// /// Sends again what was answered with a plain 500, twice at most.
/// #[derive(Clone)]
/// struct Faults(u32);
///
/// impl<B, RB, E> Policy<Request<Replay<B>>, Response<RB>, E> for Faults {
///     type Future = std::future::Ready<()>;
///
///     fn retry(&mut self, next: &mut Request<Replay<B>>, result: &mut Result<Response<RB>, E>) -> Option<Self::Future> {
///         let fault = result.as_ref().is_ok_and(|response| response.status() == 500);
///         if !fault || !next.method().is_idempotent() || !next.body().replayable() {
///             return None;
///         }
///         self.0 = self.0.checked_sub(1)?;
///         Some(std::future::ready(()))
///     }
///
///     fn clone_request(&mut self, request: &Request<Replay<B>>) -> Option<Request<Replay<B>>> {
///         let body = request.body().try_clone()?;
///         let mut next = Request::new(body);
///         *next.method_mut() = request.method().clone();
///         *next.uri_mut() = request.uri().clone();
///         *next.version_mut() = request.version();
///         *next.headers_mut() = request.headers().clone();
///         *next.extensions_mut() = request.extensions().clone();
///         Some(next)
///     }
/// }
/// ```
pub struct Replay<B> {
    source: Source<B>,
}

enum Source<B> {
    Plain(B),
    /// At its end from the start.
    Ended(B),
    Empty,
    Taped(Reader<B>),
}

impl<B> Replay<B> {
    /// The same body once more, from the first byte, for an attempt that may follow. `None` where it cannot be sent
    /// again: it is not kept, something that was read of it is not held any more, or a later attempt has superseded
    /// this one.
    ///
    /// The clone shares the tape and reads nothing until it is polled. Its first poll supersedes the attempt that read
    /// before, as [`Tape::rewind`] does at once; of several clones the one made last stands. Until then the running
    /// attempt goes on, and may read more than is kept: [`Replay::replayable`] tells. A rewind supersedes all clones made
    /// before it.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        match &self.source {
            Source::Plain(_) => None,
            Source::Ended(_) | Source::Empty => Some(Self::empty()),
            Source::Taped(reader) => reader.try_clone().map(Self::taped),
        }
    }

    /// Whether [`Replay::try_clone`] would give a body now, and a clone that was not polled yet would read from the first
    /// byte.
    #[must_use]
    pub fn replayable(&self) -> bool {
        match &self.source {
            Source::Plain(_) => false,
            Source::Ended(_) | Source::Empty => true,
            Source::Taped(reader) => reader.replayable(),
        }
    }

    pub(super) const fn empty() -> Self {
        Self { source: Source::Empty }
    }

    pub(super) const fn taped(reader: Reader<B>) -> Self {
        Self { source: Source::Taped(reader) }
    }
}

impl<B: Body> Replay<B> {
    /// Passes `body` through, and keeps nothing of it.
    #[must_use]
    pub fn plain(body: B) -> Self {
        let source = if body.is_end_stream() { Source::Ended(body) } else { Source::Plain(body) };
        Self { source }
    }

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
            Source::Plain(body) | Source::Ended(body) => {
                Pin::new(body).poll_frame(cx).map(|next| Some(next?.map(into_bytes).map_err(Into::into)))
            }
            Source::Empty => Poll::Ready(None),
            Source::Taped(reader) => reader.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Plain(body) | Source::Ended(body) => body.is_end_stream(),
            Source::Empty => true,
            Source::Taped(reader) => reader.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Plain(body) | Source::Ended(body) => body.size_hint(),
            Source::Empty => SizeHint::with_exact(0),
            Source::Taped(reader) => reader.size_hint(),
        }
    }
}

impl<B> fmt::Debug for Replay<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Plain(_) | Source::Ended(_) => "plain",
            Source::Empty => "empty",
            Source::Taped(_) => "taped",
        };
        f.debug_struct("Replay").field("source", &format_args!("{source}")).finish_non_exhaustive()
    }
}
