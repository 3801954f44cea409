//! Answers with their bodies read.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use http::{Request, Response, response::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::Error;
use crate::body::BoxError;
use crate::retry_after::said;

/// A service whose answers come with their bodies read, see [`Sweep::read_bodies`](super::Sweep::read_bodies). That of a limited
/// answer is dropped unread.
#[derive(Debug, Clone)]
pub struct BodiesRead<S> {
    inner: S,
    limit: usize,
}

impl<S> BodiesRead<S> {
    pub(super) const fn new(inner: S, limit: usize) -> Self {
        Self { inner, limit }
    }
}

impl<S, B, RB> Service<Request<B>> for BodiesRead<S>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body,
    RB::Error: Into<BoxError>,
{
    type Response = Response<Bytes>;
    type Error = Error;
    type Future = BodyRead<S::Future, RB>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(Error::from_inner)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        BodyRead { state: State::Sent { future: self.inner.call(request) }, limit: self.limit }
    }
}

pin_project! {
    /// The future of a [`BodiesRead`]. Dropping it drops the attempt, or the body.
    pub struct BodyRead<F, RB> {
        #[pin]
        state: State<F, RB>,
        limit: usize,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, RB> {
        Sent { #[pin] future: F },
        Reads { head: Option<Parts>, #[pin] body: RB, read: BytesMut },
        Done,
    }
}

impl<F, RB> fmt::Debug for BodyRead<F, RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyRead").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<F, RB, E> Future for BodyRead<F, RB>
where
    F: Future<Output = Result<Response<RB>, E>>,
    E: Into<BoxError>,
    RB: Body,
    RB::Error: Into<BoxError>,
{
    type Output = Result<Response<Bytes>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let answer = match this.state.as_mut().project() {
                StateProj::Sent { future } => {
                    let answer = ready!(future.poll(cx));
                    this.state.set(State::Done);
                    match answer {
                        // It may have no end, and nobody reads it.
                        Ok(limited) if said(&limited).is_some() => Ok(limited.map(|_| Bytes::new())),
                        Ok(response) => {
                            let (head, body) = response.into_parts();
                            this.state.set(State::Reads { head: Some(head), body, read: BytesMut::new() });
                            continue;
                        }
                        Err(error) => Err(Error::from_inner(error)),
                    }
                }
                StateProj::Reads { head, mut body, read } => {
                    let ended = loop {
                        match ready!(body.as_mut().poll_frame(cx)) {
                            None => break Ok(()),
                            Some(Err(error)) => break Err(Error::Client(error.into())),
                            Some(Ok(frame)) => {
                                let Ok(mut data) = frame.into_data() else { continue };
                                if data.remaining() > this.limit.saturating_sub(read.len()) {
                                    break Err(Error::Client(Box::new(TooLong(*this.limit))));
                                }
                                while data.has_remaining() {
                                    let chunk = data.chunk();
                                    read.extend_from_slice(chunk);
                                    let length = chunk.len();
                                    data.advance(length);
                                }
                            }
                        }
                    };
                    let read = std::mem::take(read).freeze();
                    let head = head.take();
                    this.state.set(State::Done);
                    match (ended, head) {
                        (Ok(()), Some(head)) => Ok(Response::from_parts(head, read)),
                        (Err(error), _) => Err(error),
                        (Ok(()), None) => return Poll::Pending,
                    }
                }
                StateProj::Done => return Poll::Pending,
            };
            return Poll::Ready(answer);
        }
    }
}

/// An answer's body is longer than [`Sweep::read_bodies`](super::Sweep::read_bodies) allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong(usize);

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer's body is longer than {} bytes; allow more, or read it as it comes", self.0)
    }
}

impl std::error::Error for TooLong {}
