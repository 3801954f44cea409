//! What pacing must hold to, over a clock that is a number.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests"
)]

mod efficiency;
mod gate;
mod limits;
mod order;
mod refusals;
mod reported;
mod retries;
mod simulation;
mod steering;
mod support;
mod wakers;
