//! Refresh work, under a paused clock.

#[path = "../common/mod.rs"]
mod common;
mod support;

mod cancellation;
mod configuration;
mod crashes;
mod demand;
mod failures;
mod fairness;
mod gates;
mod health;
mod idle;
mod limits;
mod requests;
mod sqlite;
mod stores;
