//! `PacingLayer` through its public API, under a paused clock.

mod bodies;
mod budgets;
mod cancellation;
mod gate;
mod law;
mod learned;
mod run;
mod storms;
mod turns;
mod whose;

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/crowd.rs"]
mod crowd;

use forbear::{
    Error, Families, Family, FamilyCooldownLayer, FamilyCooldownService, Pacing, PacingHealth, PacingLayer,
    PacingRefused, PacingService, Unknown,
};
use tower::Layer;

const URL: &str = "http://vendor.test/a";

/// One family, `vendor`, that is paced like this, and no other host.
fn families(pacing: Pacing) -> Families {
    let family = Family::new("vendor").host("vendor.test").pacing(pacing);
    Families::builder().family(family).unknown(Unknown::Refuse).build().unwrap()
}

/// The pacing alone.
fn service<S>(families: &Families, client: S) -> PacingService<S> {
    PacingLayer::new(families.clone()).layer(client)
}

/// The pacing and the gate.
fn gated<S: Clone>(families: &Families, client: S) -> PacingService<FamilyCooldownService<S>> {
    service(families, FamilyCooldownLayer::new(families.clone()).layer(client))
}

/// The refusal of pacing in `answer`, if it is one.
fn refused<T>(answer: Result<T, Error>) -> Option<PacingRefused> {
    match answer {
        Err(Error::Pacing(refused)) => Some(refused),
        _ => None,
    }
}

/// How `vendor` is paced.
fn paced(families: &Families) -> PacingHealth {
    families.health().family("vendor").unwrap().pacing.clone().unwrap()
}
