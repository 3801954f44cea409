use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::body::Paced;
use super::booked::{Booked, Flights};
use super::waiting::Waiting;
use crate::Error;
use crate::body::BoxError;
use crate::error::Spent;

pin_project! {
    /// The future of a [`PacingService`](super::PacingService). Dropping it gives up its place in the queue, and what was not
    /// sent costs no quota.
    pub struct PacingFuture<S, B, F> {
        #[pin]
        state: State<S, B, F>,
        booked: Option<Booked>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, B, F> {
        Sent { #[pin] attempt: F },
        // It could not go at once.
        Wait { waiting: Box<Waiting<S, B>> },
        // What it held is let go with the answer, not with this future.
        Done,
    }
}

impl<S, B, F> PacingFuture<S, B, F> {
    #[inline]
    pub(super) const fn unpaced(attempt: F) -> Self {
        Self { state: State::Sent { attempt }, booked: None }
    }

    #[inline]
    pub(super) const fn booked(attempt: F, booked: Booked) -> Self {
        Self { state: State::Sent { attempt }, booked: Some(booked) }
    }

    pub(super) fn wait(waiting: Waiting<S, B>) -> Self {
        Self { state: State::Wait { waiting: Box::new(waiting) }, booked: None }
    }
}

impl<S, B, F> std::fmt::Debug for PacingFuture<S, B, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PacingFuture").field("booked", &self.booked).finish_non_exhaustive()
    }
}

impl<S, B, RB> Future for PacingFuture<S, B, S::Future>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Output = Result<Response<Paced<RB>>, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let waited = match this.state.as_mut().project() {
                StateProj::Sent { attempt } => {
                    if let Some(booked) = this.booked {
                        booked.sent = true;
                    }
                    let answer = ready!(attempt.poll(cx));
                    this.state.set(State::Done);
                    let booked = this.booked.take();
                    return Poll::Ready(match answer {
                        Ok(response) => {
                            let flights =
                                booked.map_or_else(Flights::none, |booked| booked.answered(&response));
                            Ok(response.map(|body| Paced::new(body, flights)))
                        }
                        Err(error) => Err(failed(Error::from_inner(error), booked)),
                    });
                }
                StateProj::Wait { waiting } => ready!(waiting.poll(cx)),
                StateProj::Done => return Poll::Pending,
            };
            match waited {
                Ok((attempt, booked)) => {
                    *this.booked = booked;
                    this.state.set(State::Sent { attempt });
                }
                Err(error) => {
                    this.state.set(State::Done);
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

/// An attempt that a layer below refused was not sent, and costs no quota.
#[cold]
fn failed(error: Error, booked: Option<Booked>) -> Error {
    let refused = match &error {
        Error::BudgetExhausted(exhausted) => exhausted.what() == Spent::Attempts,
        other => other.is_refusal(),
    };
    if let Some(booked) = booked.filter(|_| refused) {
        booked.give_back();
    }
    error
}
