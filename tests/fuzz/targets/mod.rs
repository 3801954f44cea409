//! What must hold whatever a vendor sends. Each target takes any bytes, and panics where something does not hold.
//!
//! Two programs run them: cargo-fuzz, for long and outside CI, and the test `fuzz` of `forbear-tests`, in a few seconds.
//! `docs/testing.md` says how.

#![allow(clippy::panic, reason = "a panic is how a target says that something does not hold")]
#![allow(unreachable_pub, reason = "one of the two has them as a module of its own")]

pub mod bodies;
pub mod dialects;
pub mod fields;
pub mod hints;
pub mod holds;
pub mod message;
pub mod responses;

/// Takes any bytes, and panics where something does not hold.
pub type Target = fn(&[u8]);

/// The targets and their names.
pub const ALL: [(&str, Target); 5] = [
    ("hints", hints::target),
    ("fields", fields::target),
    ("bodies", bodies::target),
    ("responses", responses::target),
    ("dialects", dialects::target),
];
