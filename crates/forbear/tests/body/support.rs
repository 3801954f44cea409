//! A body that does what a script says, and the means to poll bodies by hand.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

/// What a [`Script`] does at one poll.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Data(Bytes),
    Trailers(HeaderMap),
    Error,
    Panic,
    /// Pending once, and asks to be polled again.
    Later,
    /// Pending for ever.
    Stall,
}

pub(crate) fn data(bytes: impl Into<Bytes>) -> Step {
    Step::Data(bytes.into())
}

pub(crate) fn trailers() -> HeaderMap {
    HeaderMap::from_iter([("x-sum".parse().unwrap(), "7".parse().unwrap())])
}

/// A body that plays `steps`, then ends. Neither `Debug` nor `Clone`, like many bodies.
pub(crate) struct Script {
    pub(crate) steps: VecDeque<Step>,
    /// Whether the length is announced.
    pub(crate) exact: bool,
    /// Its strong count says how many of its clones are alive.
    pub(crate) alive: Arc<()>,
    pub(crate) polls: Arc<AtomicUsize>,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let steps = steps.into_iter().collect();
        Self { steps, exact: true, alive: Arc::default(), polls: Arc::default() }
    }

    pub(crate) fn inexact(mut self) -> Self {
        self.exact = false;
        self
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("script says error")
    }
}

impl std::error::Error for Broken {}

impl Body for Script {
    type Data = Bytes;
    type Error = Broken;

    #[expect(clippy::panic, reason = "a body that panics is what some tests are about")]
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        match self.steps.pop_front() {
            Some(Step::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Step::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Step::Error) => Poll::Ready(Some(Err(Broken))),
            Some(Step::Panic) => panic!("script says panic"),
            Some(Step::Later) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Stall) => {
                self.steps.push_front(Step::Stall);
                Poll::Pending
            }
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.exact && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if !self.exact {
            return SizeHint::default();
        }
        let length = |step: &Step| if let Step::Data(data) = step { data.len() as u64 } else { 0 };
        SizeHint::with_exact(self.steps.iter().map(length).sum())
    }
}

pin_project! {
    /// A body that cannot be moved once polled.
    pub(crate) struct Pinned {
        #[pin]
        pub(crate) script: Script,
        #[pin]
        pub(crate) pinned: PhantomPinned,
    }
}

impl Pinned {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, pinned: PhantomPinned }
    }
}

impl Body for Pinned {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.project().script.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.script.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.script.size_hint()
    }
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What one poll of a body is ready with.
pub(crate) type Next<B> = Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>;

/// One poll, with a waker that does nothing.
pub(crate) fn poll<B: Body + Unpin>(body: &mut B) -> Poll<Next<B>> {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

/// One poll, with `wakes` as the waker.
pub(crate) fn poll_as<B: Body + Unpin>(wakes: &Arc<Wakes>, body: &mut B) -> Poll<Next<B>> {
    Pin::new(body).poll_frame(&mut Context::from_waker(&Waker::from(Arc::clone(wakes))))
}

/// What came out of a body until it ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) bytes: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
}

/// Polls to the end, through `Later`s. Panics where the body stalls.
pub(crate) fn read<B: Body + Unpin>(body: &mut B) -> Result<Read, B::Error> {
    let mut all = Read::default();
    let mut pending = 0;
    loop {
        match poll(body) {
            Poll::Ready(None) => return Ok(all),
            Poll::Ready(Some(frame)) => match frame?.into_data() {
                Ok(mut data) => all.bytes.extend_from_slice(&data.copy_to_bytes(data.remaining())),
                Err(frame) => all.trailers = frame.into_trailers().ok(),
            },
            Poll::Pending => pending += 1,
        }
        assert!(pending < 10_000, "the body stalls");
    }
}
