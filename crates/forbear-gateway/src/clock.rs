//! The one place that reads a clock. Everything else takes `now`.

use std::time::SystemTime;

/// The wall clock: for points in time that a response names without saying what time it is.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}
