//! A body that is stored while it passes.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame};

use super::flight::Interest;
use super::room::Place;
use crate::body::BoxError;

/// A body that comes in more pieces takes more memory than it has bytes, and one may come in pieces without any.
const PIECES: usize = 16 * 1024;
/// What a piece takes beside its bytes.
const PIECE: usize = 64;

/// What lies between who reads the vendor's body and who reads the answer's.
#[derive(Debug)]
struct Shared<RB> {
    chunks: Vec<Bytes>,
    /// What they take.
    place: Place,
    end: Option<End<RB>>,
    waker: Option<Waker>,
    /// Nobody reads the answer any more.
    left: bool,
}

#[derive(Debug)]
enum End<RB> {
    Whole(Option<HeaderMap>),
    Failed(BoxError),
    /// It is too large to be stored, or there is no room for it: its reader goes on by itself.
    Rest(Pin<Box<RB>>),
}

/// Reads the vendor's body.
pub(super) struct Feed<RB>(Arc<Mutex<Shared<RB>>>);

/// Reads what was fed.
pub(super) struct Tee<RB> {
    shared: Arc<Mutex<Shared<RB>>>,
    read: usize,
    rest: Option<Pin<Box<RB>>>,
    done: bool,
    /// So long the vendor's body is read on.
    _interest: Interest,
}

/// How feeding ended.
pub(super) enum Fed {
    /// Everything was read, and is here.
    Whole(Vec<Bytes>),
    /// It is larger than may be stored, or than there is room for.
    TooLarge,
    /// It failed half-way.
    Failed,
}

/// The end, of which the reader is told when this is dropped.
#[must_use = "dropping it tells the reader"]
pub(super) struct Ended<RB> {
    feed: Feed<RB>,
    end: Option<End<RB>>,
}

pub(super) fn tee<RB>(interest: Interest, place: Place) -> (Feed<RB>, Tee<RB>) {
    let shared = Shared { chunks: Vec::new(), place, end: None, waker: None, left: false };
    let shared = Arc::new(Mutex::new(shared));
    let feed = Feed(Arc::clone(&shared));
    (feed, Tee { shared, read: 0, rest: None, done: false, _interest: interest })
}

fn lock<RB>(shared: &Mutex<Shared<RB>>) -> MutexGuard<'_, Shared<RB>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<RB: Body> Feed<RB>
where
    RB::Error: Into<BoxError>,
{
    /// Reads `body` to its end, but not more than `most` bytes of it, nor more than there is room for. Its reader is told of the end once what this
    /// gives is dropped: by then it is stored, so that who asks again next finds it.
    pub(super) async fn feed(self, body: RB, most: usize) -> (Fed, Ended<RB>) {
        let mut body = Box::pin(body);
        let (mut total, mut pieces, mut trailers) = (0_usize, 0, None);
        let end = loop {
            let frame = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await;
            pieces += 1;
            let fits = match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(mut data) => {
                        let chunk = data.copy_to_bytes(data.remaining());
                        total = total.saturating_add(chunk.len());
                        self.push(chunk) && total <= most
                    }
                    Err(other) => {
                        trailers = other.into_trailers().ok();
                        true
                    }
                },
                Some(Err(error)) => break End::Failed(error.into()),
                None => break End::Whole(trailers.take()),
            };
            if !fits || pieces == PIECES {
                break End::Rest(body);
            }
        };
        self.ended(end)
    }

    /// Whether there was room for it.
    fn push(&self, chunk: Bytes) -> bool {
        let mut shared = lock(&self.0);
        let fits = shared.place.takes(chunk.len() + PIECE);
        if !chunk.is_empty() {
            shared.chunks.push(chunk);
        }
        wake(shared);
        fits
    }

    fn ended(self, end: End<RB>) -> (Fed, Ended<RB>) {
        let fed = match &end {
            End::Whole(_) => Fed::Whole(lock(&self.0).chunks.clone()),
            End::Failed(_) => Fed::Failed,
            End::Rest(_) => Fed::TooLarge,
        };
        (fed, Ended { feed: self, end: Some(end) })
    }
}

impl<RB> Feed<RB> {
    fn finish(&self, end: End<RB>) {
        let mut shared = lock(&self.0);
        let end = Some(end).filter(|_| !shared.left);
        let dropped = std::mem::replace(&mut shared.end, end);
        wake(shared);
        drop(dropped);
    }
}

impl<RB> Drop for Ended<RB> {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            self.feed.finish(end);
        }
    }
}

fn wake<RB>(mut shared: MutexGuard<'_, Shared<RB>>) {
    let waker = shared.waker.take();
    drop(shared);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<RB> Drop for Feed<RB> {
    /// Where nothing was said, as after a panic of the vendor's body, its reader is told that it failed.
    fn drop(&mut self) {
        let mut shared = lock(&self.0);
        if shared.end.is_none() && !shared.left {
            shared.end = Some(End::Failed("the response was cut off".into()));
        }
        wake(shared);
    }
}

impl<RB> Drop for Tee<RB> {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.left = true;
        let (end, waker) = (shared.end.take(), shared.waker.take());
        drop(shared);
        drop((end, waker));
    }
}

impl<RB: Body> Tee<RB>
where
    RB::Error: Into<BoxError>,
{
    pub(super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            if let Some(rest) = &mut self.rest {
                return rest.as_mut().poll_frame(cx).map(|frame| frame.map(super::body::as_bytes));
            }
            if self.done {
                return Poll::Ready(None);
            }
            let mut shared = lock(&self.shared);
            // What was read stays for the store, until the vendor's body has ended.
            if let Some(chunk) = shared.chunks.get(self.read) {
                self.read += 1;
                return Poll::Ready(Some(Ok(Frame::data(chunk.clone()))));
            }
            match shared.end.take() {
                None => {
                    if !shared.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                        shared.waker = Some(cx.waker().clone());
                    }
                    return Poll::Pending;
                }
                Some(end) => {
                    shared.chunks = Vec::new();
                    shared.place.gives_back();
                    drop(shared);
                    match end {
                        End::Rest(body) => self.rest = Some(body),
                        End::Failed(error) => {
                            self.done = true;
                            return Poll::Ready(Some(Err(error)));
                        }
                        End::Whole(trailers) => {
                            self.done = true;
                            return Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))));
                        }
                    }
                }
            }
        }
    }
}
