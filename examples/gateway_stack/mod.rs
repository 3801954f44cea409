//! A small reverse proxy, composed of the layers by hand over hyper.
//!
//! [`Gateway`] is the proxy, [`serve`] its listener. [`run`] starts it before two vendors, of which one says 429, and
//! returns what its callers saw.

mod gateway;
mod headers;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Family};
use forbear_mock::{MockVendor, reply};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::time::Instant;

pub use gateway::{Gateway, serve};
pub(crate) use headers::strip;

use crate::BoxError;

/// What a caller of the gateway saw.
#[derive(Debug)]
pub struct Passed {
    /// What it sent.
    pub what: &'static str,
    /// What it got.
    pub status: u16,
    /// The `Retry-After` it got, in seconds.
    pub retry_after: Option<u64>,
    /// The body it got.
    pub body: Bytes,
    /// How long it took.
    pub took: Duration,
    /// How many attempts both vendors have seen by then.
    pub attempts: usize,
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, status, retry_after, took, attempts, .. } = self;
        write!(f, "{what:<34} {status} after {took:>6.1?}, {attempts} attempts so far")?;
        retry_after.map_or(Ok(()), |seconds| write!(f, ", Retry-After: {seconds}"))
    }
}

/// Plays it in about two seconds.
///
/// # Errors
/// Where a socket cannot be had, or the gateway does not answer.
pub async fn run() -> Result<Vec<Passed>, BoxError> {
    let orders = MockVendor::start()
        .await
        .script(reply(201).body("booked"))
        .route("/busy", [reply(429).retry_after(1), reply(201).body("booked")])
        .route("/upload", [reply(429).retry_after(60)]);
    let news = MockVendor::start().await.script(reply(200).body("nothing new"));
    let families = Families::builder()
        .family(Family::new("orders").host(orders.authority()))
        .family(Family::new("news").host(news.authority()))
        .build()?;
    let gateway = Gateway::new(&families, Duration::from_secs(4))
        .route("orders", orders.authority().parse()?)
        .route("news", news.authority().parse()?);

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let caller = Caller {
        client: Client::builder(TokioExecutor::new()).build_http(),
        gateway: format!("http://{}", listener.local_addr()?),
        vendors: [orders, news],
    };
    let serving = tokio::spawn(serve(listener, gateway));
    let large = Bytes::from(vec![b'x'; 100 * 1024]);
    let passed = vec![
        caller.send("an order", Method::POST, "/orders/new", Bytes::from("7 of acme")).await?,
        // The gateway waits as told and sends the body again.
        caller
            .send("an order that meets a limit", Method::POST, "/orders/busy", Bytes::from("7 of acme"))
            .await?,
        // More than it keeps to send again: the vendor's own answer is passed on at once.
        caller.send("an upload that meets a limit", Method::PUT, "/orders/upload", large).await?,
        caller
            .send("an order in the cool-down", Method::POST, "/orders/new", Bytes::from("7 of acme"))
            .await?,
        caller.send("news meanwhile", Method::GET, "/news/today", Bytes::new()).await?,
        caller.send("what has no route", Method::GET, "/weather", Bytes::new()).await?,
    ];
    serving.abort();
    Ok(passed)
}

struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    gateway: String,
    vendors: [MockVendor; 2],
}

impl Caller {
    async fn send(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Passed, BoxError> {
        let request =
            Request::builder().method(method).uri(format!("{}{path}", self.gateway)).body(Full::new(body))?;
        let start = Instant::now();
        let answer = self.client.request(request).await?;
        let took = start.elapsed();
        let retry_after =
            answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(Passed {
            what,
            status: answer.status().as_u16(),
            retry_after,
            body: answer.into_body().collect().await?.to_bytes(),
            took,
            attempts: self.vendors.iter().map(|vendor| vendor.attempts().len()).sum(),
        })
    }
}
