//! `StaleLayer` through its public API, under a paused clock.

mod attack;
mod bad;
mod bodies;
mod budgets;
mod cases;
mod cold;
mod contract;
mod families;
mod handover;
mod haste;
mod heads;
mod history;
mod never;
#[cfg(feature = "refresh")]
mod queue;
#[cfg(feature = "refresh")]
mod refresh;
mod scripted;
#[path = "../common/seeds.rs"]
mod seeds;
mod served;
mod shared;
mod stack;
mod store;
mod store_faults;
mod store_lies;
mod sums;
mod vendor;
mod warm;

use std::time::Duration;

use forbear::stale::{Because, Served, StaleBody, StalePolicy};
use forbear::{StaleLayer, StaleService};
use http::{Request, Response};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt};

use vendor::{Body, Vendor};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const URL: &str = "http://vendor.test/a";

type Answer = Response<StaleBody<Body>>;

/// 1 MiB of memory, by default.
fn layer() -> StaleLayer {
    StaleLayer::memory(1 << 20)
}

fn service(vendor: &Vendor) -> StaleService<Vendor> {
    layer().layer(vendor.clone())
}

fn with(policy: StalePolicy, vendor: &Vendor) -> StaleService<Vendor> {
    layer().policy(policy).layer(vendor.clone())
}

fn get(url: &str) -> Request<Body> {
    Request::get(url).body(Body::default()).unwrap()
}

async fn send<S>(service: &S, request: Request<Body>) -> Answer
where
    S: tower::Service<Request<Body>, Response = Answer, Error = forbear::Error> + Clone,
{
    service.clone().oneshot(request).await.unwrap()
}

/// What a GET of this URL brings.
async fn ask<S>(service: &S, url: &str) -> (Served, String)
where
    S: tower::Service<Request<Body>, Response = Answer, Error = forbear::Error> + Clone,
{
    read(send(service, get(url)).await).await
}

async fn read(response: Answer) -> (Served, String) {
    let served = served(&response);
    (served, text(response).await)
}

fn served(response: &Answer) -> Served {
    *response.extensions().get().unwrap()
}

async fn text(response: Answer) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

fn because(served: Served) -> Option<Because> {
    match served {
        Served::Stale { because, .. } | Served::Fallback { because } => Some(because),
        _ => None,
    }
}

/// Lets tasks in the background run.
async fn settle() {
    tokio::time::sleep(MS).await;
}
