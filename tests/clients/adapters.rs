//! One face for all clients, so that a case is written once.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use forbear::{BoxError, Error, Families, Family, ForbearMiddleware, Stack};
use http::uri::Scheme;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::ClientBuilder;
use tonic::transport::Endpoint;
use tower::ServiceExt;

use crate::forwarder::{Forwarder, Problem};
use crate::tls;

pub(crate) type Sent = BoxBody<Bytes, io::Error>;
pub(crate) type Received = UnsyncBoxBody<Bytes, BoxError>;
type Answer = Pin<Box<dyn Future<Output = Result<Response<Received>, BoxError>> + Send>>;

/// A client with a stack around it.
pub(crate) struct Vendor(Box<dyn Fn(Request<Sent>) -> Answer + Send + Sync>);

impl Vendor {
    fn new<F, RB, E>(send: impl Fn(Request<Sent>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Response<RB>, E>> + Send + 'static,
        RB: Body<Data = Bytes> + Send + 'static,
        RB::Error: Into<BoxError>,
        E: Into<BoxError>,
    {
        Self(Box::new(move |request| {
            let answer = send(request);
            Box::pin(async move {
                let answer = answer.await.map_err(Into::into)?;
                Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
            })
        }))
    }

    pub(crate) async fn send(&self, request: Request<Sent>) -> Result<Response<Received>, BoxError> {
        (self.0)(request).await
    }

    /// The status, once the body was read to its end.
    pub(crate) async fn status(&self, request: Request<Sent>) -> StatusCode {
        let answer = self.send(request).await.unwrap();
        let status = answer.status();
        answer.into_body().collect().await.unwrap();
        status
    }
}

/// Which client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adapter {
    Hyper1,
    Hyper2,
    HyperTls1,
    HyperTls2,
    Reqwest1,
    Reqwest2,
    Middleware1,
    Middleware2,
    Tonic,
    /// Below the handler of an axum server that is asked over the same version.
    Axum1,
    Axum2,
}

impl Adapter {
    /// Whether all attempts share one connection, as streams of HTTP/2.
    pub(crate) fn has_streams(self) -> bool {
        matches!(
            self,
            Self::Hyper2 | Self::HyperTls2 | Self::Reqwest2 | Self::Middleware2 | Self::Tonic | Self::Axum2
        )
    }

    /// Whether what is seen is what a server tells its callers.
    pub(crate) fn is_a_server(self) -> bool {
        matches!(self, Self::Axum1 | Self::Axum2)
    }

    pub(crate) fn around(self, stack: &Stack) -> Vendor {
        match self {
            Self::Hyper1 | Self::Hyper2 => {
                let client =
                    Client::builder(TokioExecutor::new()).http2_only(self.has_streams()).build_http();
                let vendor = stack.service(client);
                Vendor::new(move |request| {
                    let vendor = vendor.clone();
                    async move { vendor.send(request).await }
                })
            }
            Self::HyperTls1 | Self::HyperTls2 => {
                let connector = tls::connector(self.has_streams());
                let vendor = stack.service(Client::builder(TokioExecutor::new()).build(connector));
                Vendor::new(move |mut request: Request<Sent>| {
                    let mut url = request.uri().clone().into_parts();
                    url.scheme = Some(Scheme::HTTPS);
                    *request.uri_mut() = url.try_into().unwrap();
                    let vendor = vendor.clone();
                    async move { vendor.send(request).await }
                })
            }
            Self::Reqwest1 | Self::Reqwest2 => {
                let vendor = stack.reqwest(reqwest_client(self.has_streams()));
                Vendor::new(move |request| {
                    let vendor = vendor.clone();
                    async move { vendor.send(request).await }
                })
            }
            Self::Middleware1 | Self::Middleware2 => {
                let client = ClientBuilder::new(reqwest_client(self.has_streams()))
                    .with(ForbearMiddleware::from(stack.clone()))
                    .build();
                Vendor::new(move |request| {
                    let client = client.clone();
                    async move {
                        let request = reqwest::Request::try_from(request.map(reqwest::Body::wrap))?;
                        let answer = client.execute(request).await?;
                        Ok::<_, BoxError>(Response::<reqwest::Body>::from(answer))
                    }
                })
            }
            Self::Tonic => {
                let (stack, channels) = (stack.clone(), Mutex::new(HashMap::new()));
                Vendor::new(move |request: Request<Sent>| {
                    // A channel has one origin.
                    let origin = format!("http://{}", request.uri().authority().unwrap());
                    let endpoint =
                        || stack.tonic(Endpoint::from_shared(origin.clone()).unwrap().connect_lazy());
                    let channel =
                        channels.lock().unwrap().entry(origin.clone()).or_insert_with(endpoint).clone();
                    async move { channel.oneshot(request.map(::tonic::body::Body::new)).await }
                })
            }
            Self::Axum1 | Self::Axum2 => {
                let server = Forwarder::start(stack, self.has_streams());
                Vendor::new(move |request| server.send(request))
            }
        }
    }
}

pub(crate) fn reqwest_client(http2: bool) -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy();
    let builder = if http2 { builder.http2_prior_knowledge() } else { builder };
    builder.build().unwrap()
}

/// One family, with this host.
pub(crate) fn family(authority: &str) -> Families {
    Families::builder().family(Family::new("quotes").host(authority)).build().unwrap()
}

pub(crate) fn stack(families: &Families, budget: Duration) -> Stack {
    forbear::stack(families).budget(budget)
}

pub(crate) fn get(url: impl AsRef<str>) -> Request<Sent> {
    Request::get(url.as_ref()).body(body("")).unwrap()
}

pub(crate) fn post(url: impl AsRef<str>, content: impl Into<Bytes>) -> Request<Sent> {
    Request::post(url.as_ref()).body(body(content)).unwrap()
}

pub(crate) fn body(content: impl Into<Bytes>) -> Sent {
    Full::new(content.into()).map_err(|never| match never {}).boxed()
}

/// How a call ended that was not answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Refused, since a family cools: which, and the route where it was limited if that is told.
    Cooling(String, Option<String>),
    /// The budget is spent: with so many attempts if that is told.
    BudgetExhausted(Option<u32>),
    /// The client failed, or somebody else.
    Other,
}

impl Ended {
    /// From forbear's own error, in whatever the client makes of it, or from what a server tells its caller.
    pub(crate) fn of(error: &BoxError) -> Self {
        match Error::find(&**error) {
            Some(Error::Cooling(cooling)) => {
                Self::Cooling(cooling.family().to_owned(), cooling.route().map(str::to_owned))
            }
            Some(Error::BudgetExhausted(budget)) => Self::BudgetExhausted(Some(budget.attempts())),
            Some(_) => Self::Other,
            None => error.downcast_ref().map_or(Self::Other, Self::told),
        }
    }

    fn told(problem: &Problem) -> Self {
        match problem.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                let told: serde_json::Value = serde_json::from_str(&problem.text).unwrap();
                Self::Cooling(told["family"].as_str().unwrap().to_owned(), None)
            }
            StatusCode::GATEWAY_TIMEOUT => Self::BudgetExhausted(None),
            _ => Self::Other,
        }
    }
}

/// Each case through each client, as tests of their own.
macro_rules! through {
    ($($adapter:ident: $variant:ident),+ => $cases:tt) => {
        $(through!(@one $adapter, $variant, $cases);)+
    };
    (@one $adapter:ident, $variant:ident, [$($case:ident),+ $(,)?]) => {
        mod $adapter {
            use $crate::adapters::Adapter;
            $(
                #[tokio::test]
                async fn $case() {
                    super::$case(Adapter::$variant).await;
                }
            )+
        }
    };
    ($cases:tt) => {
        through!(hyper_http1: Hyper1, hyper_http2: Hyper2, hyper_tls_http1: HyperTls1, hyper_tls_http2: HyperTls2,
            reqwest_http1: Reqwest1, reqwest_http2: Reqwest2, middleware_http1: Middleware1,
            middleware_http2: Middleware2, tonic: Tonic, axum_http1: Axum1, axum_http2: Axum2 => $cases);
    };
}
pub(crate) use through;
