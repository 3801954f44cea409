//! The proxy: a route is the first part of a path, and stands for one vendor.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use forbear::body::{Peeked, Replay};
use forbear::{
    BudgetLayer, Error, Families, FamilyCooldownLayer, Paced, PacingLayer, RetryAfterLayer, Stacked,
};
use http::header::{HOST, HeaderValue, RETRY_AFTER};
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tower::{ServiceBuilder, ServiceExt};

use super::headers::strip;

/// A vendor's body, passed on as it comes, or one of the gateway's own.
type Body = Either<Paced<Peeked<Incoming>>, Full<Bytes>>;

/// Passes requests on. Clones share the families and the connections.
#[derive(Clone)]
pub struct Gateway {
    vendors: Stacked<Client<HttpConnector, Replay<Incoming>>>,
    routes: Vec<(String, Authority)>,
}

impl Gateway {
    /// Without routes as yet; each request takes at most `budget` until its answer begins.
    #[must_use]
    pub fn new(families: &Families, budget: Duration) -> Self {
        let vendors = ServiceBuilder::new()
            .layer(BudgetLayer::new(budget))
            .layer(RetryAfterLayer::new())
            .layer(PacingLayer::new(families.clone()))
            .layer(FamilyCooldownLayer::new(families.clone()))
            .service(Client::builder(TokioExecutor::new()).build_http());
        Self { vendors, routes: Vec::new() }
    }

    /// Passes `/{name}/…` on to `/…` of `vendor`.
    #[must_use]
    pub fn route(mut self, name: &str, vendor: Authority) -> Self {
        self.routes.push((name.to_owned(), vendor));
        self
    }

    /// Answers one request.
    pub async fn answer(&self, mut inbound: Request<Incoming>) -> Response<Body> {
        let Some(uri) = self.uri(inbound.uri()) else {
            return own(StatusCode::NOT_FOUND, "no route has this path".to_owned());
        };
        *inbound.uri_mut() = uri;
        inbound.headers_mut().remove(HOST);
        strip(inbound.headers_mut());
        match self.vendors.clone().oneshot(inbound).await {
            Ok(mut answer) => {
                strip(answer.headers_mut());
                answer.map(Either::Left)
            }
            Err(error) => refused(&error),
        }
    }

    fn uri(&self, inbound: &Uri) -> Option<Uri> {
        let path = inbound.path_and_query()?.as_str();
        let (name, rest) = path.strip_prefix('/')?.split_once('/')?;
        let (_, vendor) = self.routes.iter().find(|(route, _)| route == name)?;
        let uri =
            Uri::builder().scheme(Scheme::HTTP).authority(vendor.clone()).path_and_query(format!("/{rest}"));
        uri.build().ok()
    }
}

/// What was not sent, or came to nothing.
fn refused(error: &Error) -> Response<Body> {
    let status = match error {
        Error::Cooling(_) | Error::Pacing(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::BudgetExhausted(_) => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let mut response = own(status, error.to_string());
    let retry_in = match error {
        Error::Cooling(cooling) => cooling.retry_in(),
        Error::Pacing(paced) => paced.retry_in(),
        _ => None,
    };
    if let Some(left) = retry_in {
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn own(status: StatusCode, why: String) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(why)));
    *response.status_mut() = status;
    response
}

/// Serves `gateway` until the future is dropped; connections go on until they close.
///
/// # Errors
/// Where no connection can be accepted any more.
pub async fn serve(listener: TcpListener, gateway: Gateway) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let gateway = gateway.clone();
        let service = service_fn(move |inbound| {
            let gateway = gateway.clone();
            async move { Ok::<_, Infallible>(gateway.answer(inbound).await) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
