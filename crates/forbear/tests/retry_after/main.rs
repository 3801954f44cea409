//! `RetryAfterLayer` through its public API, under a paused clock, without a gate.

mod bodies;
mod law;
mod recorded;
mod repeatable;
mod replay;
mod waits;

#[path = "../common/mod.rs"]
mod common;

use forbear::{Cooling, Error};

/// The refusal in `answer`, if it is one.
fn refusal<T>(answer: Result<T, Error>) -> Option<Cooling> {
    match answer {
        Err(Error::Cooling(cooling)) => Some(cooling),
        _ => None,
    }
}
