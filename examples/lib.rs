//! Runnable examples of forbear: `cargo run --example quickstart`.
//!
//! Each example is a module here and a small `main` beside it, so that a test can run it and look at what it did.

pub mod apalis_worker;
pub mod axum_outbound;
pub mod cache_proxy;
pub mod cli_gate;
pub mod compose;
pub mod gateway_stack;
pub mod hyper_tls;
pub mod quickstart;
pub mod refresh;
pub mod reqwest_client;
pub mod sweep;
pub mod testing;
pub mod tonic_channel;

/// Any error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The guide's example for users' own tests holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/testing.md")]
struct Testing;

/// The guide's example of the one module that makes clients holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/guard.md")]
struct Guard;

/// The guide's example of a client with types of its own holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/clients.md")]
struct Clients;

/// The guide's axum server holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/axum.md")]
struct Axum;

/// What the guide tells those who come from something else holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/coming-from.md")]
struct ComingFrom;

/// The guide's examples of pacing hold.
#[cfg(doctest)]
#[doc = include_str!("../docs/pacing.md")]
struct Pacing;

/// The guide's examples of background work hold.
#[cfg(doctest)]
#[doc = include_str!("../docs/background.md")]
struct Background;

/// The guide's examples of reqwest hold.
#[cfg(doctest)]
#[doc = include_str!("../docs/reqwest.md")]
struct Reqwest;

/// The guide's example of hyper-util with TLS holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/hyper.md")]
struct Hyper;

/// The guide's example of tonic holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/tonic.md")]
struct Tonic;

/// The guide's example of stale answers holds.
#[cfg(doctest)]
#[doc = include_str!("../docs/stale.md")]
struct Stale;
