//! Other people's middleware in its documented places: redirects, `tower::retry` for faults, an attempt timeout.
//!
//! Each row of [`run`] is one logical request through a stack of its own, and what it cost: attempts that the vendor saw,
//! time, and strikes of the gate.

mod faults;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use forbear::{BudgetLayer, Families, Family, FamilyCooldownLayer, RetryAfterLayer};
use forbear_mock::{MockVendor, Reply, reply};
use http::{Method, Request};
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::timeout::TimeoutLayer;
use tower::{ServiceBuilder, ServiceExt};
use tower_http::follow_redirect::FollowRedirectLayer;

pub use faults::Faults;

use crate::BoxError;

/// What a logical request may cost in all, and each attempt alone.
const BUDGET: Duration = Duration::from_secs(8);
const ATTEMPT: Duration = Duration::from_millis(500);

/// What one logical request cost.
#[derive(Debug)]
pub struct Row {
    /// What the vendor did.
    pub what: &'static str,
    /// What the caller got.
    pub status: u16,
    /// Attempts that the vendor saw.
    pub attempts: usize,
    /// Whether each of them brought the same method and body.
    pub same: bool,
    /// How long it took.
    pub took: Duration,
    /// Strikes of the vendor's family, and of the family that was asked first where that is another.
    pub strikes: (u64, u64),
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, status, attempts, took, strikes: (orders, moved), .. } = self;
        write!(
            f,
            "{what:<36} {status}  attempts {attempts}  {took:>7.1?}  strikes: orders {orders}, moved {moved}"
        )
    }
}

/// Plays each in turn, in about four seconds.
///
/// # Errors
/// Where a socket cannot be had, or a call ends in an error.
pub async fn run() -> Result<Vec<Row>, BoxError> {
    let busy = || reply(429).retry_after(1);
    let (fault, good) = (|| reply(500), || reply(200));
    let slow = good().delay(4 * ATTEMPT);
    Ok(vec![
        play("a plain 500", Method::PUT, "/order", vec![fault(), good()]).await?,
        play("a plain 500 to a POST: not repeated", Method::POST, "/order", vec![fault(), good()]).await?,
        play("an attempt that hangs", Method::PUT, "/order", vec![slow, good()]).await?,
        play("429, retry after 1 s, to a POST", Method::POST, "/order", vec![busy(), good()]).await?,
        play("a 500, then a 429, to a PUT", Method::PUT, "/order", vec![fault(), busy(), good()]).await?,
        play("a redirect, a 500, a 429", Method::GET, "/moved", vec![fault(), busy(), good()]).await?,
    ])
}

/// One request to a vendor that plays `script` on `/order`. Another one redirects from `/moved`.
async fn play(what: &'static str, method: Method, path: &str, script: Vec<Reply>) -> Result<Row, BoxError> {
    let vendor = MockVendor::start().await.route("/order", script);
    let moved = MockVendor::start().await.script(reply(307).header("location", vendor.url("/order")));
    let families = Families::builder()
        .family(Family::new("orders").host(vendor.authority()))
        .family(Family::new("moved").host(moved.authority()))
        .build()?;

    let service = ServiceBuilder::new()
        .layer(BudgetLayer::new(BUDGET))
        // Every hop passes the gate of its own family.
        .layer(FollowRedirectLayer::new())
        .layer(RetryAfterLayer::new())
        // Faults. Each of its attempts asks the gate.
        .layer(RetryLayer::new(Faults::new(2)))
        .layer(FamilyCooldownLayer::new(families.clone()))
        // One attempt, not the waits between two.
        .layer(TimeoutLayer::new(ATTEMPT))
        .service(Client::builder(TokioExecutor::new()).build_http());

    let first = if path == "/moved" { moved.url(path) } else { vendor.url(path) };
    let body = if method == Method::GET { Bytes::new() } else { Bytes::from("order 7") };
    let request = Request::builder().method(&method).uri(first).body(Full::new(body.clone()))?;
    let start = Instant::now();
    let answer = service.oneshot(request).await?;
    let took = start.elapsed();

    let attempts = vendor.attempts();
    let health = families.health();
    let strikes = |name| health.family(name).map_or(0, |family| family.strikes);
    Ok(Row {
        what,
        status: answer.status().as_u16(),
        attempts: attempts.len(),
        same: attempts.iter().all(|attempt| attempt.method() == method && attempt.body() == &body),
        took,
        strikes: (strikes("orders"), strikes("moved")),
    })
}
