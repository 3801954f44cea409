//! A client that does what a script says, panics at chosen steps, and counts what is alive of it.
//!
//! A step is each time that it is entered: to be made ready, called, polled, and a body of either side read.

use std::collections::HashSet;
use std::fmt;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;
use tower::Service;

/// What becomes of one attempt, once it has read its request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    status: Option<u16>,
    retry_after: Option<u64>,
    polls: usize,
    delay: Duration,
    body: Plan,
}

/// How a body goes: its frames, each after so many pending polls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plan {
    pub(crate) frames: usize,
    pub(crate) polls: usize,
    pub(crate) fails: bool,
}

/// An answer with this status and an empty body.
pub(crate) const fn answer(status: u16) -> Act {
    let body = Plan { frames: 0, polls: 0, fails: false };
    Act { status: Some(status), retry_after: None, polls: 0, delay: Duration::ZERO, body }
}

/// The same with `Retry-After`.
pub(crate) const fn limited(status: u16, seconds: u64) -> Act {
    Act { retry_after: Some(seconds), ..answer(status) }
}

pub(crate) const fn fails() -> Act {
    Act { status: None, ..answer(500) }
}

/// Does not answer for a month.
pub(crate) const fn hangs() -> Act {
    answer(200).delay(Duration::from_secs(30 * 24 * 60 * 60))
}

impl Act {
    /// Pending for so many polls first; it asks to be polled again.
    pub(crate) const fn polls(self, polls: usize) -> Self {
        Self { polls, ..self }
    }

    pub(crate) const fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    pub(crate) const fn body(self, body: Plan) -> Self {
        Self { body, ..self }
    }
}

/// Plays a script; its last act repeats. Clones share the script and the steps.
#[derive(Debug)]
pub(crate) struct Client {
    /// Pending polls until it is ready; `None` before it was asked.
    unready: Option<usize>,
    shared: Arc<Shared>,
    _alive: Arc<()>,
}

#[derive(Debug, Default)]
struct Shared {
    script: Mutex<Vec<Act>>,
    /// Pending polls before it is ready.
    unready: AtomicUsize,
    steps: AtomicUsize,
    /// Attempts at the paced host that were polled at least once.
    sent: AtomicUsize,
    /// Attempts at it that panicked when they were called.
    broke: AtomicUsize,
    faults: Mutex<HashSet<usize>>,
    services: Arc<()>,
    attempts: Arc<()>,
    requests: Arc<()>,
    responses: Arc<()>,
}

impl Shared {
    /// Counts a step; panics where the plan says so.
    fn step(&self) {
        let step = self.steps.fetch_add(1, Ordering::Relaxed);
        if self.faults.lock().unwrap().contains(&step) {
            resume_unwind(Box::new("the plan says panic"));
        }
    }
}

impl Client {
    pub(crate) fn new() -> Self {
        let shared = Arc::<Shared>::default();
        Self { unready: None, _alive: Arc::clone(&shared.services), shared }
    }

    /// From now on another script.
    pub(crate) fn play(&self, script: impl IntoIterator<Item = Act>) {
        let mut script: Vec<_> = script.into_iter().collect();
        script.reverse();
        *self.shared.script.lock().unwrap() = script;
    }

    /// From now on it is pending for so many polls before it is ready, and panics at these steps, counted from now.
    pub(crate) fn trouble(&self, unready: usize, faults: impl IntoIterator<Item = usize>) {
        self.shared.unready.store(unready, Ordering::Relaxed);
        self.shared.steps.store(0, Ordering::Relaxed);
        *self.shared.faults.lock().unwrap() = faults.into_iter().collect();
    }

    /// How many steps it took since then.
    pub(crate) fn steps(&self) -> usize {
        self.shared.steps.load(Ordering::Relaxed)
    }

    /// How many attempts at `vendor.test` were polled at least once.
    pub(crate) fn sent(&self) -> usize {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// How many of them panicked before, when they were called.
    pub(crate) fn broke(&self) -> usize {
        self.shared.broke.load(Ordering::Relaxed)
    }

    /// The body of a request.
    pub(crate) fn request_body(&self, plan: Plan) -> Frames {
        Frames::new(plan, &self.shared, &self.shared.requests)
    }

    /// How many clones beside this one, attempts, bodies of requests and bodies of responses are alive.
    pub(crate) fn alive(&self) -> [usize; 4] {
        let Shared { services, attempts, requests, responses, .. } = &*self.shared;
        [
            Arc::strong_count(services) - 2,
            Arc::strong_count(attempts) - 1,
            Arc::strong_count(requests) - 1,
            Arc::strong_count(responses) - 1,
        ]
    }

    fn next(&self) -> Act {
        let mut script = self.shared.script.lock().unwrap();
        if script.len() > 1 { script.pop().unwrap() } else { script[0] }
    }
}

impl Clone for Client {
    /// A clone is not ready.
    fn clone(&self) -> Self {
        Self { unready: None, shared: Arc::clone(&self.shared), _alive: Arc::clone(&self._alive) }
    }
}

impl<B: Body<Data = Bytes>> Service<Request<B>> for Client {
    type Response = Response<Frames>;
    type Error = Failed;
    type Future = Attempt<B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.shared.step();
        let unready = self.unready.get_or_insert_with(|| self.shared.unready.load(Ordering::Relaxed));
        pend(unready, cx).map(Ok)
    }

    fn call(&mut self, request: Request<B>) -> Attempt<B> {
        assert_eq!(self.unready.take(), Some(0), "called without being ready");
        let counts = request.uri().host() == Some("vendor.test");
        let broke = self.shared.broke.fetch_add(counts.into(), Ordering::Relaxed);
        self.shared.step();
        self.shared.broke.store(broke, Ordering::Relaxed);
        Attempt {
            act: self.next(),
            counts,
            request: Some(Box::pin(request.into_body())),
            sleep: None,
            shared: Arc::clone(&self.shared),
            _alive: Arc::clone(&self.shared.attempts),
        }
    }
}

fn pend(left: &mut usize, cx: &mut Context<'_>) -> Poll<()> {
    if *left == 0 {
        return Poll::Ready(());
    }
    *left -= 1;
    cx.waker().wake_by_ref();
    Poll::Pending
}

pub(crate) struct Attempt<B> {
    act: Act,
    /// Whether its first poll is still to be counted.
    counts: bool,
    request: Option<Pin<Box<B>>>,
    sleep: Option<Pin<Box<Sleep>>>,
    shared: Arc<Shared>,
    _alive: Arc<()>,
}

impl<B: Body<Data = Bytes>> Future for Attempt<B> {
    type Output = Result<Response<Frames>, Failed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let sent = usize::from(std::mem::take(&mut this.counts));
        let _ = this.shared.sent.fetch_add(sent, Ordering::Relaxed);
        this.shared.step();
        while let Some(request) = &mut this.request {
            match ready!(request.as_mut().poll_frame(cx)) {
                Some(Ok(_)) => {}
                Some(Err(_)) => return Poll::Ready(Err(Failed)),
                None => this.request = None,
            }
        }
        ready!(pend(&mut this.act.polls, cx));
        if !this.act.delay.is_zero() {
            let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(this.act.delay)));
            ready!(sleep.as_mut().poll(cx));
        }
        let Some(status) = this.act.status else { return Poll::Ready(Err(Failed)) };
        let mut response = Response::builder().status(status);
        if let Some(seconds) = this.act.retry_after {
            response = response.header("retry-after", seconds);
        }
        let body = Frames::new(this.act.body, &this.shared, &this.shared.responses);
        Poll::Ready(Ok(response.body(body).unwrap()))
    }
}

/// A body that goes by its plan.
pub(crate) struct Frames {
    plan: Plan,
    pending: usize,
    shared: Arc<Shared>,
    _alive: Arc<()>,
}

impl Frames {
    fn new(plan: Plan, shared: &Arc<Shared>, alive: &Arc<()>) -> Self {
        Self { plan, pending: plan.polls, shared: Arc::clone(shared), _alive: Arc::clone(alive) }
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Failed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failed>>> {
        self.shared.step();
        ready!(pend(&mut self.pending, cx));
        self.pending = self.plan.polls;
        if let Some(left) = self.plan.frames.checked_sub(1) {
            self.plan.frames = left;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"frame")))));
        }
        let fails = std::mem::take(&mut self.plan.fails);
        Poll::Ready(fails.then_some(Err(Failed)))
    }

    fn is_end_stream(&self) -> bool {
        self.plan.frames == 0 && !self.plan.fails
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// What the client and its bodies fail with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script says failure")
    }
}

impl std::error::Error for Failed {}
