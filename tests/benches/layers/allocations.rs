//! The memory of what is recorded.

use forbear_benches::allocations::GLOBAL;
use forbear_core::deadlines::Deadlines;
use forbear_core::time::Monotonic;
use http::Uri;
use stats_alloc::Region;
use std::sync::Arc;
use std::time::Duration;

/// How many URLs are recorded.
pub(crate) const RECORDED: usize = 1_000_000;

/// A map of [`RECORDED`] URLs whose deadlines lie ahead of `now`, and how many bytes each costs.
pub(crate) fn recorded(now: Monotonic) -> (Arc<Deadlines>, f64) {
    let region = Region::new(GLOBAL);
    let deadlines = Deadlines::new(RECORDED);
    for number in 0..RECORDED {
        let until = now.after(Duration::from_secs(3600));
        deadlines.record(deadlines.key(&url(number), None, None), until, false, now);
    }
    let change = region.change();
    let held = change.bytes_allocated.saturating_sub(change.bytes_deallocated);
    (deadlines, held as f64 / RECORDED as f64)
}

/// One of the recorded URLs.
pub(crate) fn url(number: usize) -> Uri {
    format!("https://api.vendor.test/v8/chart/{number}").parse().unwrap()
}
