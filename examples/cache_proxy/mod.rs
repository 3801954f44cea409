//! A small caching proxy before one vendor: `StaleLayer` as a cache that its users share, and nothing else.
//!
//! [`Proxy`] is the proxy, [`serve`] its listener. [`run`] starts it before a vendor that goes down, and returns what its callers saw.

mod proxy;

use std::fmt;

use bytes::Bytes;
use forbear_mock::{MockVendor, reply};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

pub use proxy::{Proxy, serve};

use crate::BoxError;

/// What a caller of the proxy saw.
#[derive(Debug, PartialEq, Eq)]
pub struct Passed {
    /// What was going on.
    pub when: &'static str,
    /// What it got.
    pub status: u16,
    /// How that came about (RFC 9211).
    pub cache_status: String,
    /// The body it got.
    pub body: Bytes,
    /// How many attempts the vendor has seen by then.
    pub attempts: usize,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { when, status, cache_status, attempts, .. } = self;
        write!(f, "{when:<32} {status}, {attempts} attempts so far, {cache_status}")
    }
}

/// Plays it in a moment.
///
/// # Errors
/// Where a socket cannot be had, or the proxy does not answer.
pub async fn run() -> Result<Vec<Passed>, BoxError> {
    let vendor = MockVendor::start()
        .await
        .route("/prices", [reply(200).header("cache-control", "max-age=60").body("104.5")])
        .route("/news", [reply(200).header("cache-control", "max-age=0").body("all quiet"), reply(503)]);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let caller = Caller {
        client: Client::builder(TokioExecutor::new()).build_http(),
        proxy: format!("http://{}", listener.local_addr()?),
        vendor,
    };
    let serving = tokio::spawn(serve(listener, Proxy::new(caller.vendor.authority().parse()?)));
    let passed = vec![
        caller.get("the first who asks", "/prices").await?,
        caller.get("the next", "/prices").await?,
        caller.get("news, while the vendor is well", "/news").await?,
        caller.get("news, while it is down", "/news").await?,
    ];
    serving.abort();
    Ok(passed)
}

struct Caller {
    client: Client<HttpConnector, Empty<Bytes>>,
    proxy: String,
    vendor: MockVendor,
}

impl Caller {
    async fn get(&self, when: &'static str, path: &str) -> Result<Passed, BoxError> {
        let answer = self.client.get(format!("{}{path}", self.proxy).parse()?).await?;
        let told = answer.headers().get("cache-status").and_then(|value| value.to_str().ok());
        Ok(Passed {
            when,
            status: answer.status().as_u16(),
            cache_status: told.unwrap_or_default().to_owned(),
            body: answer.into_body().collect().await?.to_bytes(),
            attempts: self.vendor.attempts().len(),
        })
    }
}
