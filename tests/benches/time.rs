//! Nanoseconds per call. What counts is the time that the calling thread had a processor, so that other programs disturb
//! less.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Call;

/// How long the calling thread was at work for so many calls.
pub fn spent(call: &mut Call, times: u64) -> Duration {
    let start = thread_time();
    for _ in 0..times {
        black_box(&mut *call)();
    }
    thread_time().saturating_sub(start)
}

/// The nanoseconds of one call, in the fastest of many rounds: what it takes while nobody else uses the processor's parts.
pub fn least(call: &mut Call) -> f64 {
    const CALLS: u32 = 100;
    let round = |_| spent(call, u64::from(CALLS)) / CALLS;
    (0..5_000).map(round).min().unwrap_or_default().as_nanos() as f64
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}
