use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use forbear_core::stale::Served;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::body::StaleBody;
use super::headers::{Told, tell};
use super::oneshot::Oneshot;
use super::outdates::Outdates;
use crate::Error;
use crate::body::BoxError;

type Asks<RB> = Pin<Box<dyn Future<Output = Result<Response<StaleBody<RB>>, Error>> + Send>>;

pin_project! {
    /// The future of a [`StaleService`](super::StaleService). Dropping it lets the attempt that it began go on for those who wait for it
    /// too, and else gives that up.
    pub struct StaleFuture<S: Service<Request<B>>, B, RB> {
        #[pin]
        state: State<S, B, RB>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S: Service<Request<B>>, B, RB> {
        Ready { response: Option<Response<StaleBody<RB>>> },
        Refused { error: Option<Error> },
        Passes { #[pin] attempt: Oneshot<S, Request<B>>, outdates: Option<Outdates>, by_method: bool },
        Asks { asks: Asks<RB> },
    }
}

impl<S: Service<Request<B>>, B, RB> StaleFuture<S, B, RB> {
    pub(super) const fn ready(response: Response<StaleBody<RB>>) -> Self {
        Self { state: State::Ready { response: Some(response) } }
    }

    #[cfg(feature = "refresh")]
    pub(super) const fn refused(error: Error) -> Self {
        Self { state: State::Refused { error: Some(error) } }
    }

    pub(super) const fn pass(
        attempt: Oneshot<S, Request<B>>,
        outdates: Option<Outdates>,
        by_method: bool,
    ) -> Self {
        Self { state: State::Passes { attempt, outdates, by_method } }
    }

    pub(super) fn asks(
        asks: impl Future<Output = Result<Response<StaleBody<RB>>, Error>> + Send + 'static,
    ) -> Self {
        Self { state: State::Asks { asks: Box::pin(asks) } }
    }
}

impl<S, B, RB> Future for StaleFuture<S, B, RB>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
    RB: Body,
{
    type Output = Result<Response<StaleBody<RB>>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Ready { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response)),
                None => Poll::Pending,
            },
            StateProj::Refused { error } => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => Poll::Pending,
            },
            StateProj::Passes { attempt, outdates, by_method } => {
                let response = ready!(attempt.poll(cx)).map_err(Error::from_inner)?;
                if let Some(outdates) = outdates {
                    outdates.outdate(&response);
                }
                let mut response = response.map(StaleBody::live);
                tell(response.headers_mut(), Told::Bypassed { method: *by_method });
                response.extensions_mut().insert(Served::Live);
                Poll::Ready(Ok(response))
            }
            StateProj::Asks { asks } => asks.as_mut().poll(cx),
        }
    }
}

impl<S: Service<Request<B>>, B, RB> fmt::Debug for StaleFuture<S, B, RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Ready { .. } => "from memory",
            State::Refused { .. } => "refused",
            State::Passes { .. } => "passes",
            State::Asks { .. } => "asks",
        };
        f.debug_struct("StaleFuture").field("state", &state).finish_non_exhaustive()
    }
}
