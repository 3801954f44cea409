//! Shared parts of the tests: clients, families, log capture and what may be demanded of times.

#![allow(clippy::panic, reason = "these are the assertions of tests")]

#[path = "support/client.rs"]
pub mod client;
#[path = "support/families.rs"]
pub mod families;
#[path = "support/knock.rs"]
pub mod knock;
#[path = "support/logs.rs"]
pub mod logs;
#[path = "support/times.rs"]
pub mod times;
