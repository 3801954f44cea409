use std::future::poll_fn;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::body::{BoxError, Peeked, Replay};
use crate::{Error, Families, Paced, Stacked};

/// A client `C` with all layers around it: a [`Service`](https://docs.rs/tower-service/0.3/tower_service/trait.Service.html), and [`Vendor::send`] for who does not want to know about
/// services. Clones share the families and what is remembered, each calls a clone of the client; so a program keeps one
/// and gives every task a clone. Where a struct names the client's type, its body is [`Replay`] around the request's:
///
/// ```
/// use bytes::Bytes;
/// use forbear::{Vendor, body::Replay};
/// use http_body_util::Empty;
/// use hyper_util::client::legacy::{Client, connect::HttpConnector};
///
/// #[derive(Clone)]
/// struct Quotes {
///     vendor: Vendor<Client<HttpConnector, Replay<Empty<Bytes>>>>,
/// }
///
/// impl Quotes {
///     async fn chart(&self) -> Result<http::StatusCode, Box<dyn std::error::Error + Send + Sync>> {
///         let request = http::Request::get("http://query1.example.com/v8/chart").body(Empty::new())?;
///         Ok(self.vendor.send(request).await?.status())
///     }
/// }
/// # let _ = async |quotes: Quotes| tokio::spawn(async move { quotes.chart().await }).await;
/// ```
///
/// In a spawned task, around a client whose error is a [`BoxError`], use [`Vendor::send`], or make it ready and call
/// it. `oneshot` does not compile there ("implementation of `From` is not general enough"): the compiler forgets that
/// the box is `'static`, with any layer that takes `Into<BoxError>`.
#[derive(Debug, Clone)]
pub struct Vendor<C>(Stacked<C>);

impl<C> Vendor<C> {
    pub(crate) const fn new(stacked: Stacked<C>) -> Self {
        Self(stacked)
    }

    /// The families that it asks.
    pub fn families(&self) -> Families {
        self.0.inner().inner().families()
    }

    /// The layers and the client, as the service they are.
    pub fn into_inner(self) -> Stacked<C> {
        self.0
    }

    /// Sends one logical request: makes a clone of the stack ready, and calls it.
    ///
    /// Where the compiler says here that `Service<Request<Replay<_>>>` is not implemented for your client, its body type
    /// is fixed to another: leave it to inference, or write `Replay<…>` around it.
    ///
    /// # Errors
    /// [`Error::Cooling`] where its family cools for longer than it may wait, [`Error::Pacing`] where its family is paced and
    /// its turn comes too late, [`Error::BudgetExhausted`] where its
    /// budget is spent, [`Error::UnknownFamily`] where no family has its host and the policy is to refuse such,
    /// [`Error::Client`] where the client fails. Dropping the future cancels the request and holds nothing.
    pub async fn send<B, RB>(&self, request: Request<B>) -> Result<Response<Paced<Peeked<RB>>>, Error>
    where
        C: Service<Request<Replay<B>>, Response = Response<RB>> + Clone, // hyper-util: `Client<_, Replay<B>>`
        C::Error: Into<BoxError>,
        B: Body + Unpin,
        B::Error: Into<BoxError>,
        RB: Body,
    {
        let mut service = self.0.clone();
        poll_fn(|cx| Service::<Request<B>>::poll_ready(&mut service, cx)).await?;
        service.call(request).await
    }
}

impl<C, R> Service<R> for Vendor<C>
where
    Stacked<C>: Service<R>,
{
    type Response = <Stacked<C> as Service<R>>::Response;
    type Error = <Stacked<C> as Service<R>>::Error;
    type Future = <Stacked<C> as Service<R>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        self.0.call(request)
    }
}
