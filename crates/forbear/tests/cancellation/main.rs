//! Futures dropped at every poll, for each layer alone and for all together: afterwards nothing is held.

mod every_poll;
mod lease;
mod storm;
mod world;

#[path = "../common/mod.rs"]
mod common;
