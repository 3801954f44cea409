//! Runnable examples of forbear: `cargo run --example quickstart`.
//!
//! Each example is a module here and a small `main` beside it, so that a test can run it and look at what it did.

pub mod quickstart;
