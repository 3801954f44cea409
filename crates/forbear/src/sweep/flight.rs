//! One item, sent once.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use forbear_core::families::FamiliesId;
use forbear_core::gate::Grant;
use http::Request;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::item::Item;
use super::request::Panicked;
use crate::body::BoxError;
use crate::{Error, beneath};

/// The families of the gate below, once a service was made ready; `None` in it where no gate was found.
pub(super) type Below = Arc<OnceLock<Option<FamiliesId>>>;

pin_project! {
    /// One item, sent once. A panic below ends it like any other error.
    pub(super) struct Flight<S, T, B, F> {
        #[pin]
        state: State<S, B, F>,
        // `None` once it has landed.
        item: Option<Item<T>>,
        // What its wait ended with, given back where it is not used.
        grant: Option<Grant>,
        below: Below,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, B, F> {
        // A clone of its own is made ready.
        Unready { service: S, request: Option<Request<B>> },
        Sent { #[pin] future: F },
        Landed,
    }
}

/// What came back with an item.
pub(super) type Landed<T, R> = (Item<T>, Result<R, Error>);

impl<S, T, B, F> Flight<S, T, B, F> {
    pub(super) const fn new(
        service: S,
        request: Request<B>,
        item: Item<T>,
        grant: Option<Grant>,
        below: Below,
    ) -> Self {
        let state = State::Unready { service, request: Some(request) };
        Self { state, item: Some(item), grant, below }
    }

    /// Ends it where it is: the item, and whether anything may have been sent.
    pub(super) fn cut(self: Pin<&mut Self>) -> Option<(Item<T>, bool)> {
        let mut this = self.project();
        let sent = matches!(this.state.as_mut().project(), StateProj::Sent { .. });
        this.state.set(State::Landed);
        *this.grant = None;
        Some((this.item.take()?, sent))
    }
}

impl<S, T, B> Flight<S, T, B, S::Future>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    fn step(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<S::Response, Error>> {
        let mut this = self.project();
        loop {
            let future = match this.state.as_mut().project() {
                StateProj::Unready { service, request } => {
                    let (ready, families) = beneath::look(|| service.poll_ready(cx));
                    if let Err(error) = ready!(ready) {
                        return Poll::Ready(Err(Error::from_inner(error)));
                    }
                    let _ = this.below.set(families);
                    let Some(request) = request.take() else { return Poll::Pending };
                    service.call(request)
                }
                StateProj::Sent { future } => return future.poll(cx).map_err(Error::from_inner),
                StateProj::Landed => return Poll::Pending,
            };
            this.state.set(State::Sent { future });
        }
    }
}

impl<S, T, B> Future for Flight<S, T, B, S::Future>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
{
    type Output = Landed<T, S::Response>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // What panicked is a clone and a request of this item alone, and is dropped here.
        let answer = match catch_unwind(AssertUnwindSafe(|| self.as_mut().step(cx))) {
            Ok(polled) => ready!(polled),
            Err(panic) => Err(Panicked::error(&*panic)),
        };
        let mut this = self.project();
        let _ = catch_unwind(AssertUnwindSafe(|| this.state.set(State::Landed)));
        *this.grant = None;
        match this.item.take() {
            Some(item) => Poll::Ready((item, answer)),
            None => Poll::Pending,
        }
    }
}
