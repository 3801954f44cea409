//! Allocations per call.

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::Call;

/// Counts for every bench.
#[global_allocator]
pub static GLOBAL: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// The fewest allocations of one call: what the call needs is in each of many. Everything was seen once after `round`
/// calls.
pub fn of(call: &mut Call, round: usize) -> usize {
    (0..round.max(100)).for_each(|_| call());
    let mut one = || {
        let region = Region::new(GLOBAL);
        call();
        region.change().allocations
    };
    (0..100).map(|_| one()).min().unwrap_or_default()
}
