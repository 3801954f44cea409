//! Runnable examples of forbear: `cargo run --example quickstart`.
