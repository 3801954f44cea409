//! What of the families outlives a process.

mod clocks;
mod gone;
mod restart;
mod scripted;
mod shared;

#[path = "../common/mod.rs"]
mod common;

use forbear::{Families, FamiliesBuilder, Family, FamilyHealth, HealthPhase, stack};
use tower::{Layer, ServiceExt};

use common::{Client, answer, get, limited};
use scripted::Scripted;

const URL: &str = "http://vendor.test/a";

/// One registered family, kept in `store`.
fn builder(store: &Scripted) -> FamiliesBuilder {
    Families::builder().family(Family::new("vendor").host("vendor.test")).store(store.clone())
}

/// The next process, once it knows what the store held.
async fn next_process(store: &Scripted) -> Families {
    let families = builder(store).build().unwrap();
    families.loaded().await.unwrap();
    families
}

/// The vendor says that it is to be left alone for so long.
async fn strike(families: &Families, seconds: u64) {
    let client = Client::new([limited(429, seconds)]);
    let _ = stack(families).layer(client).oneshot(common::with(get(URL), forbear::NoWait)).await;
}

/// How many of so many calls reach the vendor.
async fn reach(families: &Families, calls: usize) -> usize {
    let client = Client::new([answer(200).delay(common::SECOND)]);
    let service = stack(families).layer(client.clone());
    let calls = (0..calls).map(|_| service.clone().oneshot(common::with(get(URL), forbear::NoWait)));
    let _ = futures_util::future::join_all(calls).await;
    client.sent()
}

fn vendor(families: &Families) -> FamilyHealth {
    families.health().family("vendor").unwrap().clone()
}

fn phase(families: &Families) -> HealthPhase {
    vendor(families).phase
}
