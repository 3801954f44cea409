//! What forbear costs: the layers beside others, `cargo xtask bench`, and the dialects. The tables and how to read them:
//! `docs/performance.md`.
//!
//! A package of its own, so that its peers are no dependency of anything else, and CI builds little to check the
//! instruction limits.

pub mod allocations;
pub mod callgrind;
pub mod counted;
pub mod time;

/// Does once what is measured.
pub type Call = Box<dyn FnMut()>;
