use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use forbear_core::deadlines::{DeadlinesId, UrlKey};
use forbear_core::time::Monotonic;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::logical::{Logical, Memory, Next, Parked};
use super::saved::Saved;
use crate::Error;
use crate::body::{BoxError, Drain, Replay};
use crate::budget::{self, attempt::Attempt};
use crate::waiting::Wait;

pin_project! {
    /// The future of a [`RetryAfterService`](super::RetryAfterService). Dropping it gives up its place in the queue.
    pub struct RetryAfterFuture<S, B, F, RB> {
        #[pin]
        state: State<F, RB>,
        // What is needed to send again; `None` where that is not wanted.
        saved: Option<Box<Saved<S, B>>>,
        key: Option<UrlKey>,
        deadlines: DeadlinesId,
        // Whether this logical request recorded a deadline.
        recorded: bool,
    }
}

pin_project! {
    #[project = StateProj]
    pub(super) enum State<F, RB> {
        Sent { #[pin] future: F, attempt: Attempt },
        // An earlier logical request recorded a deadline for this URL.
        Recorded { until: Monotonic },
        // The discarded answer is read to its end.
        Drain { drain: Pin<Box<Drain<RB>>>, then: Option<Parked> },
        Wait { wait: Box<Wait> },
        // The wait is over; the service is made ready.
        Ready,
        Failed { error: Option<Error> },
        // What it held is let go with the answer, not with this future.
        Done,
    }
}

impl<F, RB> State<F, RB> {
    #[inline]
    pub(super) fn sent(future: F) -> Self {
        Self::Sent { future, attempt: Attempt::default() }
    }
}

impl<S, B, F, RB> RetryAfterFuture<S, B, F, RB> {
    #[inline]
    pub(super) fn sent(
        future: F,
        saved: Option<Box<Saved<S, B>>>,
        key: Option<UrlKey>,
        deadlines: DeadlinesId,
    ) -> Self {
        Self { state: State::sent(future), saved, key, deadlines, recorded: false }
    }

    pub(super) fn recorded(until: Monotonic, saved: Box<Saved<S, B>>, deadlines: DeadlinesId) -> Self {
        Self { state: State::Recorded { until }, saved: Some(saved), key: None, deadlines, recorded: false }
    }

    pub(super) fn failed(error: Error, deadlines: DeadlinesId) -> Self {
        Self {
            state: State::Failed { error: Some(error) },
            saved: None,
            key: None,
            deadlines,
            recorded: false,
        }
    }
}

impl<S, B, F, RB> std::fmt::Debug for RetryAfterFuture<S, B, F, RB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::Sent { .. } => "Sent",
            State::Recorded { .. } => "Recorded",
            State::Drain { .. } => "Drain",
            State::Wait { .. } => "Wait",
            State::Ready => "Ready",
            State::Failed { .. } => "Failed",
            State::Done => "Done",
        };
        f.debug_struct("RetryAfterFuture").field("state", &state).finish_non_exhaustive()
    }
}

impl<S, B, RB> Future for RetryAfterFuture<S, B, S::Future, RB>
where
    S: Service<Request<Replay<B>>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Output = Result<Response<RB>, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let memory = Memory { key: *this.key, deadlines: *this.deadlines, recorded: this.recorded };
        let mut request = Logical { saved: this.saved, memory };
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Sent { future, attempt } => {
                    if attempt.count() {
                        let answer = ready!(attempt.announce(|| future.poll(cx)));
                        request.answered(answer.map_err(Error::from_inner), attempt)
                    } else {
                        Next::Return(Err(budget::out_of_attempts()))
                    }
                }
                StateProj::Recorded { until } => request.recorded(*until),
                StateProj::Drain { drain, then } => {
                    ready!(drain.as_mut().poll(cx));
                    match then.take() {
                        Some(parked) => request.park(&parked),
                        None => return Poll::Pending,
                    }
                }
                StateProj::Wait { wait } => request.waited(ready!(wait.poll(cx))),
                StateProj::Ready => {
                    let ready = ready!(request.poll_ready(cx));
                    request.send(ready)
                }
                StateProj::Failed { error } => match error.take() {
                    Some(error) => Next::Return(Err(error)),
                    None => return Poll::Pending,
                },
                StateProj::Done => return Poll::Pending,
            };
            match next {
                Next::Return(answer) => {
                    this.state.set(State::Done);
                    *request.saved = None;
                    return Poll::Ready(answer);
                }
                Next::Go(state) => {
                    #[cfg(feature = "stale")]
                    if let Some(saved) = request.saved.as_mut() {
                        saved.stands(matches!(state, State::Wait { .. }));
                    }
                    this.state.set(state);
                }
            }
        }
    }
}
