//! What is known of a vendor: what it answers to an attempt that reaches it at a given time.
//!
//! The oracle asks it, and the simulation over the gate alone has no other vendor. What the layers meet is a mock, made
//! beside the scenario in the [`catalogue`](crate::catalogue). The oracle is played against the mock too, and the bench
//! fails where it is refused: then the two do not agree.

mod limits;
mod trouble;

use std::time::Duration;

use forbear_core::time::Monotonic;

pub use limits::{Ban, Concurrency, Sliding, Window};
pub use trouble::{Closed, FromNth, Healthy, NEXT, Outage, Pulse};

/// What a vendor answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// 200.
    Good,
    /// 429, with a `Retry-After` in whole seconds where it gives one.
    Limited(Option<Duration>),
}

/// A vendor. Attempts reach it in the order of time.
pub trait Vendor: Send {
    /// Whether an attempt that arrived now would be served. Asks without counting.
    fn free(&mut self, now: Monotonic) -> bool;
    /// An attempt arrives.
    fn answer(&mut self, now: Monotonic) -> Answer;
}

/// 429 with the time from `now` to `until`, in whole seconds rounded up.
fn limited_until(until: Monotonic, now: Monotonic) -> Answer {
    let wait = until.since(now);
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Answer::Limited(Some(Duration::from_secs(seconds)))
}
