//! A server's side: `InboundBudgetLayer`, `RefusalResponseLayer` and axum's types, under a paused clock, and in `wire`
//! against real sockets.

mod answers;
mod budgets;
mod chains;
mod checks;
mod headers;
mod law;
#[cfg(feature = "reqwest")]
mod over_reqwest;
mod secrets;
mod wire;

#[path = "../common/mod.rs"]
mod common;

use std::convert::Infallible;

use bytes::Bytes;
use forbear::{Error, Families, Family, Vendor, stack};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::Service;

use common::{Client, SECOND, Sent};

const URL: &str = "http://vendor.test/a";

fn families() -> Families {
    Families::builder().family(Family::new("quotes").host("vendor.test")).build().unwrap()
}

/// A handler that answers with `forbear::Error` where it has one.
fn handler<F>(
    handle: impl Fn() -> F + Clone + Send,
) -> impl Service<Request<Sent>, Response = Response<Full<Bytes>>, Error = Error, Future: Send> + Clone
where
    F: Future<Output = Result<Response<Full<Bytes>>, Error>> + Send,
{
    tower::service_fn(move |_| handle())
}

/// A vendor's answers reach the handler with their bodies read.
async fn ask(vendor: &Vendor<Client>) -> Result<Response<Full<Bytes>>, Error> {
    let (parts, body) = vendor.send(common::get(URL)).await?.into_parts();
    let body = body.collect().await.unwrap_or_else(|never: Infallible| match never {});
    Ok(Response::from_parts(parts, Full::new(body.to_bytes())))
}

fn vendor(families: &Families, client: &Client) -> Vendor<Client> {
    stack(families).budget(30 * SECOND).service(client.clone())
}

/// Status, `Retry-After`, `forbear-refusal`, and the problem.
#[derive(Debug)]
struct Told {
    status: u16,
    retry_after: Option<String>,
    by: Option<String>,
    problem: Value,
}

async fn told<B: http_body::Body<Error: std::fmt::Debug>>(response: Response<B>) -> Told {
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (retry_after, by, media) = (header("retry-after"), header("forbear-refusal"), header("content-type"));
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(media.as_deref(), Some("application/problem+json"));
    Told { status, retry_after, by, problem: serde_json::from_slice(&body).unwrap() }
}
