use std::future::poll_fn;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use crate::Error;

/// A client with all layers around it. A [`Service`], and [`Vendor::send`] for who does not want to know about
/// services.
#[derive(Debug, Clone)]
pub struct Vendor<S>(S);

impl<S> Vendor<S> {
    pub(crate) const fn new(stacked: S) -> Self {
        Self(stacked)
    }

    /// The layers and the client, as the service they are.
    pub fn into_inner(self) -> S {
        self.0
    }

    /// Sends one logical request: makes a clone of the stack ready, and calls it.
    ///
    /// Where the compiler says here that `Service<Request<Replay<_>>>` is not implemented for your client, its body type
    /// is fixed to another: leave it to inference, or write `Replay<…>` around it.
    ///
    /// # Errors
    /// [`Error::Cooling`] where its family cools for longer than it may wait, [`Error::BudgetExhausted`] where its
    /// budget is spent, [`Error::UnknownFamily`] where no family has its host and the policy is to refuse such,
    /// [`Error::Client`] where the client fails. Dropping the future cancels the request and holds nothing.
    pub async fn send<B, RB>(&self, request: Request<B>) -> Result<Response<RB>, Error>
    where
        S: Service<Request<B>, Response = Response<RB>, Error = Error> + Clone,
    {
        let mut service = self.0.clone();
        poll_fn(|cx| service.poll_ready(cx)).await?;
        service.call(request).await
    }
}

impl<S, R> Service<R> for Vendor<S>
where
    S: Service<R>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.0.call(request)
    }
}
