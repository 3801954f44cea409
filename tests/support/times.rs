//! What may be demanded of times on a busy machine: lower bounds exactly, upper bounds with [`SLACK`].

use std::time::Duration;

use forbear_mock::Attempt;
use tokio::time::Instant;

/// How late a busy machine with two cores may make something that is due.
pub const SLACK: Duration = Duration::from_millis(900);

/// The most that jitter adds to a wait: a tenth, and at most 1 s.
#[must_use]
pub fn jitter(wait: Duration) -> Duration {
    (wait / 10).min(Duration::from_secs(1))
}

/// Milliseconds.
#[must_use]
pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The gaps between attempts.
#[must_use]
pub fn gaps(attempts: &[Attempt]) -> Vec<Duration> {
    attempts.windows(2).map(|pair| pair[1].at().duration_since(pair[0].at())).collect()
}

/// Asserts that each gap between attempts is at least what `waits` says, exactly, and at most that, jitter and
/// [`SLACK`].
///
/// # Panics
///
/// When it is not, or there are more or fewer gaps.
#[track_caller]
pub fn assert_gaps(attempts: &[Attempt], waits: &[Duration]) {
    let gaps = gaps(attempts);
    assert_eq!(gaps.len(), waits.len(), "gaps {gaps:?} instead of {waits:?}");
    for (gap, wait) in gaps.iter().zip(waits) {
        assert!(gap >= wait, "too early: {gap:?} instead of {wait:?} in {gaps:?}");
        let most = *wait + jitter(*wait) + SLACK;
        assert!(*gap <= most, "too late: {gap:?}, more than {most:?}, in {gaps:?}");
    }
}

/// Asserts that no more than [`SLACK`] has passed since `start`: nothing was waited for.
///
/// # Panics
///
/// When more has.
#[track_caller]
pub fn assert_at_once(start: Instant) {
    let took = start.elapsed();
    assert!(took <= SLACK, "took {took:?} instead of no time");
}
