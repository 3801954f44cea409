//! The gate, held to its description: one module per subject, and a reference model that random histories are
//! compared with.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests"
)]

mod closed;
mod cooldown_length;
mod dead_route;
mod faults;
mod kept;
mod merge;
mod model;
mod operator;
mod pace;
mod probe;
mod quiet;
mod recheck;
mod recovery;
mod reference;
mod shown;
mod shutdown;
mod strikes;
mod support;
mod threads;
mod times;
mod waiting;
mod wakers;
mod window;
