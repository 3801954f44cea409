//! `cargo xtask …`: set-up, tests and CI steps of this workspace.

fn main() {}
