//! Futures dropped at every poll and panics at every step, for each layer alone and for all together: afterwards
//! nothing is held, and the family can still be called.

mod caller;
mod client;
mod every_poll;
mod every_step;
mod lease;
mod storm;
mod world;

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/crowd.rs"]
mod crowd;
#[path = "../common/seeds.rs"]
mod seeds;
