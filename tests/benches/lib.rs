//! What the layers cost, beside others: `cargo xtask bench`. The table and how to read it: `docs/performance.md`.
//!
//! A package of its own, so that its peers are no dependency of anything else, and CI builds little to check the
//! instruction limits.
