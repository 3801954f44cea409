use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{Request, Response, Uri};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::{request, response};
use crate::body::BoxError;

/// A `reqwest::Client` as the service that layers go around. See the [module](super).
#[derive(Debug, Clone)]
pub struct Reqwest {
    client: reqwest::Client,
}

impl Reqwest {
    /// The adapter around `client`. Both share connections.
    #[must_use]
    pub const fn new(client: reqwest::Client) -> Self {
        Self { client }
    }
}

impl From<reqwest::Client> for Reqwest {
    fn from(client: reqwest::Client) -> Self {
        Self::new(client)
    }
}

impl<B> Service<Request<B>> for Reqwest
where
    B: Body + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<reqwest::Body>;
    /// Without its URL.
    type Error = reqwest::Error;
    type Future = ReqwestFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), reqwest::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ReqwestFuture {
        let asked = request.uri().clone();
        let state = match request::outgoing(request) {
            Ok(request) => State::Sent { asked, attempt: self.client.call(request) },
            Err(error) => State::Failed { error: Some(error) },
        };
        ReqwestFuture { state }
    }
}

type Attempt = <reqwest::Client as Service<reqwest::Request>>::Future;

pin_project! {
    /// The future of [`Reqwest`]. Dropping it drops the attempt. Polled again after it failed, it stays pending.
    #[must_use = "futures do nothing unless polled"]
    pub struct ReqwestFuture {
        #[pin]
        state: State,
    }
}

pin_project! {
    #[project = StateProj]
    enum State {
        Sent { #[pin] attempt: Attempt, asked: Uri },
        Failed { error: Option<reqwest::Error> },
    }
}

impl Future for ReqwestFuture {
    type Output = Result<Response<reqwest::Body>, reqwest::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Sent { attempt, asked } => Poll::Ready(match ready!(attempt.poll(cx)) {
                Ok(response) => Ok(response::answer(response, asked)),
                Err(error) => Err(error.without_url()),
            }),
            StateProj::Failed { error } => {
                error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)))
            }
        }
    }
}

impl fmt::Debug for ReqwestFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestFuture").finish_non_exhaustive()
    }
}
