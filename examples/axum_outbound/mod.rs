//! An axum server whose handlers call a vendor through one shared stack, within what their callers wait.
//!
//! [`app`] is the server, and [`serve`] serves it until it is told to stop. [`run`] starts it beside a vendor that says 429, calls it, and returns what its callers saw.

mod app;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Family};
use forbear_mock::{MockVendor, reply};
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use app::{Outbound, app, serve};

use crate::BoxError;

/// What a caller of the server saw.
#[derive(Debug)]
pub struct Seen {
    /// The path it asked for.
    pub path: &'static str,
    /// The server's status.
    pub status: u16,
    /// Its `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Its body.
    pub body: String,
    /// How long it took.
    pub took: Duration,
    /// How many attempts the vendor has seen by then.
    pub attempts: usize,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, status, retry_after, body, took, attempts } = self;
        write!(f, "{path:<12} {status} after {took:>6.1?}, {attempts} attempts so far: {}", body.trim_end())?;
        retry_after.map_or(Ok(()), |seconds| write!(f, " (Retry-After: {seconds})"))
    }
}

/// Plays it in about a second.
///
/// # Errors
/// Where a socket cannot be had, or the server does not answer.
pub async fn run() -> Result<Vec<Seen>, BoxError> {
    let vendor = MockVendor::start()
        .await
        .script(reply(200).body("7.25"))
        .route("/slow", reply(200).delay(Duration::from_secs(60)))
        .route("/busy", [reply(429).retry_after(1), reply(200).body("8.50")])
        .route("/closed", [reply(429).retry_after(120)]);
    let families = Families::builder().family(Family::new("quotes").host(vendor.authority())).build()?;
    let outbound = Outbound::new(families, vendor.uri(), Duration::from_secs(3));

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(serve(listener, outbound, async move {
        let _ = stopped.await;
    }));

    let caller = Client::builder(TokioExecutor::new()).build_http();
    let mut seen = Vec::new();
    // The second is told 429 and waits; the third's caller is in a hurry; the fourth is told more than its three seconds;
    // the fifth meets the cool-down.
    for (path, patience) in [
        ("/quote/acme", None),
        ("/quote/busy", None),
        ("/quote/slow", Some("300")),
        ("/quote/closed", None),
        ("/quote/acme", None),
        ("/health", None),
    ] {
        let mut request = Request::get(format!("http://{server}{path}"));
        if let Some(milliseconds) = patience {
            request = request.header("x-request-timeout-ms", milliseconds);
        }
        seen.push(ask(&caller, request.body(Empty::new())?, path, &vendor).await?);
    }
    drop(caller);
    drop(stop);
    serving.await??;
    Ok(seen)
}

async fn ask(
    caller: &Client<HttpConnector, Empty<Bytes>>,
    request: Request<Empty<Bytes>>,
    path: &'static str,
    vendor: &MockVendor,
) -> Result<Seen, BoxError> {
    let start = Instant::now();
    let answer = caller.request(request).await?;
    let took = start.elapsed();
    let retry_after =
        answer.headers().get("retry-after").map(|value| value.to_str()?.parse().map_err(BoxError::from));
    Ok(Seen {
        path,
        status: answer.status().as_u16(),
        retry_after: retry_after.transpose()?,
        body: String::from_utf8(answer.into_body().collect().await?.to_bytes().to_vec())?,
        took,
        attempts: vendor.attempts().len(),
    })
}
