//! The server: one stack for all handlers, so that they share what vendors said.

use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use forbear::axum::{InboundBudgetLayer, RefusalResponseLayer};
use forbear::{Error, Families, Vendor, body::Replay};
use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tower::ServiceBuilder;

/// What handlers need to call the vendor. Cheap to clone; clones share its families.
#[derive(Clone)]
pub struct Outbound {
    vendor: Vendor<Client<HttpConnector, Replay<Empty<Bytes>>>>,
    families: Families,
    base: String,
    budget: Duration,
}

impl Outbound {
    /// Calls the vendor at `base`. All calls of one handler are done within `budget`, or within what its caller waits.
    #[must_use]
    pub fn new(families: Families, base: String, budget: Duration) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { vendor: forbear::stack(&families).budget(budget).service(client), families, base, budget }
    }
}

/// Serves [`app`] until `stopped`, and then ends in good order: nobody waits for the vendor any more, what is in flight is
/// answered, and no connection is cut.
///
/// # Errors
/// As [`axum::serve()`].
pub async fn serve(
    listener: TcpListener,
    outbound: Outbound,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let families = outbound.families.clone();
    let told_to_stop = async move {
        stopped.await;
        families.shutdown();
    };
    axum::serve(listener, app(outbound)).with_graceful_shutdown(told_to_stop).await
}

/// `/quote/{symbol}` asks the vendor; `/health` says how the vendor is, and never fails because of it.
pub fn app(outbound: Outbound) -> Router {
    let layers = ServiceBuilder::new()
        .layer(InboundBudgetLayer::new(outbound.budget))
        .layer(RefusalResponseLayer::new());
    Router::new()
        .route("/quote/{symbol}", get(quote))
        .route("/health", get(health))
        .with_state(outbound)
        .layer(layers)
}

/// What the vendor said is handed on; a refusal, and the vendor's own 429, become 503 with `Retry-After`.
async fn quote(State(outbound): State<Outbound>, Path(symbol): Path<String>) -> Result<Response, Error> {
    if !is_symbol(&symbol) {
        let why = "a symbol is letters, digits, dots and dashes";
        return Ok((StatusCode::BAD_REQUEST, why).into_response());
    }
    let url = format!("{}/{symbol}", outbound.base.trim_end_matches('/'));
    let request = Request::get(url).body(Empty::new()).map_err(Error::from_inner)?;
    Ok(outbound.vendor.send(request).await?.map(Body::new))
}

/// A path parameter is decoded: unchecked, it could hold a `/` or `?` and name something else at the vendor.
fn is_symbol(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    text.bytes().all(plain) && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

async fn health(State(outbound): State<Outbound>) -> String {
    outbound.families.health().to_string()
}
