//! An axum server whose one handler asks a vendor, and a client of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use forbear::axum::{InboundBudgetLayer, RefusalResponseLayer};
use forbear::body::Replay;
use forbear::{BoxError, Error, Stack, Vendor};
use http::{HeaderValue, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tower::ServiceBuilder;

use crate::adapters::Sent;

/// The request header that names the vendor.
const VENDOR: &str = "x-vendor";

type Asked = Vendor<Client<HttpConnector, Replay<Body>>>;

/// Serves on loopback until the runtime ends, with both layers around its handler. What a vendor says is handed on.
pub(crate) struct Forwarder {
    address: SocketAddr,
    client: Client<HttpConnector, Sent>,
}

impl Forwarder {
    pub(crate) fn start(stack: &Stack, http2: bool) -> Self {
        let vendor: Asked =
            stack.service(Client::builder(TokioExecutor::new()).http2_only(http2).build_http());
        let layers = ServiceBuilder::new()
            .layer(InboundBudgetLayer::new(Duration::from_secs(600)))
            .layer(RefusalResponseLayer::new().pass_on_limited());
        let app = Router::new().fallback(forward).with_state(vendor).layer(layers);
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, client: Client::builder(TokioExecutor::new()).http2_only(http2).build_http() }
    }

    /// Asks the server to ask the vendor that the request is for.
    pub(crate) fn send(
        &self,
        mut request: http::Request<Sent>,
    ) -> impl Future<Output = Result<http::Response<Incoming>, BoxError>> + use<> {
        let vendor = HeaderValue::from_str(request.uri().authority().unwrap().as_str()).unwrap();
        request.headers_mut().insert(VENDOR, vendor);
        *request.uri_mut() = at(&self.address.to_string(), request.uri());
        let answer = self.client.request(request);
        async move { told(answer.await?).await }
    }
}

async fn forward(State(vendor): State<Asked>, mut request: Request) -> Result<Response, Error> {
    let asked = request.headers_mut().remove(VENDOR).ok_or_else(|| Error::from_inner("no vendor"))?;
    request.headers_mut().remove(header::HOST);
    *request.uri_mut() = at(asked.to_str().map_err(Error::from_inner)?, request.uri());
    // The other side's own version.
    *request.version_mut() = http::Version::default();
    Ok(vendor.send(request).await?.map(Body::new))
}

fn at(authority: &str, uri: &Uri) -> Uri {
    format!("http://{authority}{}", uri.path_and_query().unwrap()).parse().unwrap()
}

/// What the server says of itself, as an error.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.text)
    }
}

impl std::error::Error for Problem {}

async fn told(answer: http::Response<Incoming>) -> Result<http::Response<Incoming>, BoxError> {
    let problem = HeaderValue::from_static("application/problem+json");
    if answer.headers().get(header::CONTENT_TYPE) != Some(&problem) {
        return Ok(answer);
    }
    let status = answer.status();
    let text = String::from_utf8(answer.into_body().collect().await?.to_bytes().into())?;
    Err(Box::new(Problem { status, text }))
}
