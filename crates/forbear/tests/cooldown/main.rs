//! `FamilyCooldownLayer` through its public API, under a paused clock.

mod answers;
mod bodies;
mod buckets;
mod charged;
#[cfg(feature = "decompression")]
mod coded;
mod dead_route;
mod events;
mod gate;
mod law;
mod partitions;
mod probe;

#[path = "../common/mod.rs"]
mod common;

use forbear::{Cooling, Error, Families, Family, FamilyCooldownLayer, FamilyCooldownService, Unknown};
use tower::Layer;

const URL: &str = "http://vendor.test/a";

/// One family, `vendor`, and no other host.
fn families() -> Families {
    let family = Family::new("vendor").host("vendor.test");
    Families::builder().family(family).unknown(Unknown::Refuse).build().unwrap()
}

fn service<S>(families: &Families, client: S) -> FamilyCooldownService<S> {
    FamilyCooldownLayer::new(families.clone()).layer(client)
}

/// The refusal in `answer`, if it is one.
fn refusal<T>(answer: Result<T, Error>) -> Option<Cooling> {
    match answer {
        Err(Error::Cooling(cooling)) => Some(cooling),
        _ => None,
    }
}

/// Where the family `name` stands, as an operator reads it.
fn phase(families: &Families, name: &str) -> String {
    families.health().family(name).map_or_else(|| "none".to_owned(), |family| family.phase.to_string())
}
