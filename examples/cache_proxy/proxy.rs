//! Takes requests, and passes them on.

use std::convert::Infallible;

use bytes::Bytes;
use forbear::stale::StaleBody;
use forbear::{StaleLayer, StaleService};
use http::header::{HOST, HeaderValue, VIA};
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tower::Layer;

use crate::gateway_stack::strip;

type Body = Either<StaleBody<Incoming>, Full<Bytes>>;

/// Passes requests on, or answers them from memory. Clones share what is stored.
#[derive(Clone)]
pub struct Proxy {
    vendor: StaleService<Client<HttpConnector, Incoming>>,
    behind: Authority,
}

impl Proxy {
    /// Before this vendor; 64 MiB of answers are stored.
    #[must_use]
    pub fn new(behind: Authority) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { vendor: StaleLayer::memory(64 << 20).shared().layer(client), behind }
    }

    async fn answer(&self, mut inbound: Request<Incoming>) -> Response<Body> {
        let path = inbound.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.behind.clone()).path_and_query(path);
        let Ok(uri) = uri.build() else { return own(StatusCode::BAD_REQUEST, "this is no path") };
        *inbound.uri_mut() = uri;
        inbound.headers_mut().remove(HOST);
        strip(inbound.headers_mut());
        inbound.headers_mut().append(VIA, HeaderValue::from_static("1.1 cache_proxy"));
        match self.vendor.send(inbound).await {
            Ok(mut answer) => {
                strip(answer.headers_mut());
                answer.headers_mut().append(VIA, HeaderValue::from_static("1.1 cache_proxy"));
                answer.map(Either::Left)
            }
            Err(_) => own(StatusCode::BAD_GATEWAY, "the vendor does not answer"),
        }
    }
}

fn own(status: StatusCode, why: &'static str) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(why)));
    *response.status_mut() = status;
    response
}

/// Serves `proxy` until the future is dropped; connections go on until they close.
///
/// # Errors
/// Where no connection can be accepted any more.
pub async fn serve(listener: TcpListener, proxy: Proxy) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let proxy = proxy.clone();
        let service = service_fn(move |inbound| {
            let proxy = proxy.clone();
            async move { Ok::<_, Infallible>(proxy.answer(inbound).await) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
