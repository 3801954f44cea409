//! How clients behave in a storm: scenarios, the vendors of each, and clients that meet them.
//!
//! A vendor is 25 ms away; a good answer takes 25 ± 10 ms back, a refusal 5 ± 5 ms; `Retry-After` is in whole seconds,
//! rounded up. Calls arrive as a Poisson process with a budget of 30 s. One call in ten goes to a second, healthy vendor
//! of the same client. Rates are those that reach the vendor, so "40 per second offered" is 36, except in B, whose "three
//! times" is of the vendor's limit.
//!
//! Goodput alone flatters hammering, since a refusal costs a simulated vendor nothing. So three figures are judged
//! together, each the median of five seeds: calls served in time in per cent of an [`oracle`] that knows the vendor, 429s
//! received, and the most attempts in any one second after recovery.
//!
//! | file | holds |
//! |---|---|
//! | [`catalogue`] | the scenarios: load, vendor, and what must be reached |
//! | [`scenario`], [`model`], [`oracle`] | what a scenario consists of, what its vendor would do, what could be served |
//! | [`contender`] | the clients: forbear's layers and others |
//! | [`play`], [`wire`] | one run: a client, a `forbear_mock` vendor and the way between, on tokio's paused clock |
//! | [`figures`], [`table`] | what a run is judged by, and how it is told |
//!
//! `cargo xtask bench storm` prints the table; `docs/performance.md` holds it. The test `gate` plays the scenarios over
//! the gate alone, `layers` over the layers.

pub mod catalogue;
pub mod contender;
pub mod figures;
pub mod model;
pub mod oracle;
pub mod play;
pub mod scenario;
pub mod table;
pub mod wire;

use std::time::Duration;

use forbear_core::time::Monotonic;

/// When every run begins: an hour after the origin of its numbers.
pub const START: Monotonic = Monotonic::from_nanos(3_600_000_000_000);
/// One second.
pub const SECOND: Duration = Duration::from_secs(1);
/// From the caller to the vendor.
pub const OUT: Duration = Duration::from_millis(25);

/// So many seconds.
#[must_use]
pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many seconds into a run.
#[must_use]
pub fn at(second: u64) -> Monotonic {
    START.after(seconds(second))
}
