//! A client that does what a script says, and counts what is in flight.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::{Instant, Sleep};
use tower::Service;

/// What a [`Client`] does with one attempt: pending for some polls, then for some time, then it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    end: End,
    polls: usize,
    delay: Duration,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Answer(u16, Option<u64>),
    Fail,
    Panic,
    PanicInCall,
    Hang,
}

const fn act(end: End) -> Act {
    Act { end, polls: 0, delay: Duration::ZERO }
}

/// An answer with this status and an empty body.
pub(crate) const fn answer(status: u16) -> Act {
    act(End::Answer(status, None))
}

/// The same with `Retry-After`.
pub(crate) const fn limited(status: u16, seconds: u64) -> Act {
    act(End::Answer(status, Some(seconds)))
}

pub(crate) const fn fails() -> Act {
    act(End::Fail)
}

/// Panics when its future is polled.
pub(crate) const fn panics() -> Act {
    act(End::Panic)
}

pub(crate) const fn panics_in_call() -> Act {
    act(End::PanicInCall)
}

pub(crate) const fn hangs() -> Act {
    act(End::Hang)
}

impl Act {
    /// Pending for so many polls first; it asks to be polled again.
    pub(crate) const fn polls(mut self, polls: usize) -> Self {
        self.polls = polls;
        self
    }

    pub(crate) const fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// Plays a script; its last act repeats. Clones share the script and the counts.
#[derive(Debug, Clone)]
pub(crate) struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    script: Mutex<Vec<Act>>,
    sent: Mutex<Vec<Instant>>,
    in_flight: AtomicUsize,
}

impl Client {
    pub(crate) fn new(script: impl IntoIterator<Item = Act>) -> Self {
        let client = Self(Arc::new(Shared {
            script: Mutex::default(),
            sent: Mutex::default(),
            in_flight: AtomicUsize::new(0),
        }));
        client.play(script);
        client
    }

    /// From now on another script.
    pub(crate) fn play(&self, script: impl IntoIterator<Item = Act>) {
        let mut script: Vec<_> = script.into_iter().collect();
        script.reverse();
        *self.0.script.lock().unwrap() = script;
    }

    /// How many attempts were polled at least once.
    pub(crate) fn sent(&self) -> usize {
        self.0.sent.lock().unwrap().len()
    }

    /// The times between one attempt and the next.
    pub(crate) fn gaps(&self) -> Vec<Duration> {
        let sent = self.0.sent.lock().unwrap();
        sent.windows(2).map(|two| two[1] - two[0]).collect()
    }

    /// How many attempts are neither over nor dropped.
    pub(crate) fn in_flight(&self) -> usize {
        self.0.in_flight.load(Ordering::SeqCst)
    }

    fn next(&self) -> Act {
        let mut script = self.0.script.lock().unwrap();
        if script.len() > 1 { script.pop().unwrap() } else { script[0] }
    }
}

impl<B> Service<Request<B>> for Client {
    type Response = Response<Full<Bytes>>;
    type Error = Failed;
    type Future = Attempt;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Attempt {
        let act = self.next();
        if matches!(act.end, End::PanicInCall) {
            std::panic::resume_unwind(Box::new("script says panic"));
        }
        self.0.in_flight.fetch_add(1, Ordering::SeqCst);
        Attempt { act, sleep: None, sent: false, shared: Arc::clone(&self.0) }
    }
}

pub(crate) struct Attempt {
    act: Act,
    sleep: Option<Pin<Box<Sleep>>>,
    sent: bool,
    shared: Arc<Shared>,
}

impl Future for Attempt {
    type Output = Result<Response<Full<Bytes>>, Failed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !std::mem::replace(&mut self.sent, true) {
            self.shared.sent.lock().unwrap().push(Instant::now());
        }
        if let Some(left) = self.act.polls.checked_sub(1) {
            self.act.polls = left;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if !self.act.delay.is_zero() {
            let delay = self.act.delay;
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(delay)));
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        match self.act.end {
            End::Answer(status, retry_after) => {
                let mut response = Response::builder().status(status);
                if let Some(seconds) = retry_after {
                    response = response.header("retry-after", seconds);
                }
                Poll::Ready(Ok(response.body(Full::default()).unwrap()))
            }
            End::Fail => Poll::Ready(Err(Failed)),
            End::Panic | End::PanicInCall => std::panic::resume_unwind(Box::new("script says panic")),
            End::Hang => Poll::Pending,
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.shared.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What the client fails with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("script says failure")
    }
}

impl std::error::Error for Failed {}
