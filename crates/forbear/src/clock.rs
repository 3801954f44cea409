//! The one place that reads a clock. Everything else takes `now`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use forbear_core::time::Monotonic;
#[cfg(feature = "refresh")]
use forbear_core::work::Stamp;
use tokio::task::coop;
use tokio::time::{Instant, Sleep};

/// The origin lies this far before the first reading, so that a runtime whose paused clock started earlier still
/// counts upwards.
const HEAD_START: Duration = Duration::from_secs(24 * 60 * 60);
/// As good as never.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

#[inline]
fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(Instant::now)
}

/// Now, in monotonic time: tokio's clock, so that tests can pause it.
#[inline]
pub(crate) fn now() -> Monotonic {
    from_instant(Instant::now())
}

/// A point of tokio's clock as a number.
#[inline]
pub(crate) fn from_instant(at: Instant) -> Monotonic {
    let base = base();
    let later = at.saturating_duration_since(base);
    if later.is_zero() {
        return Monotonic::ORIGIN.after(HEAD_START).before(base.saturating_duration_since(at));
    }
    // Not `as_nanos`: a process does not run for 584 years, and this is read for every attempt.
    let nanos = (HEAD_START + later).as_secs().wrapping_mul(1_000_000_000) + u64::from(later.subsec_nanos());
    Monotonic::from_nanos(nanos)
}

/// A number as a point of tokio's clock; one that is too far away is about thirty years from the origin.
pub(crate) fn to_instant(at: Monotonic) -> Instant {
    let base = base();
    let origin = Monotonic::ORIGIN.after(HEAD_START);
    let moved = if at < origin {
        base.checked_sub(origin.since(at))
    } else {
        base.checked_add(at.since(origin).min(FAR))
    };
    moved.unwrap_or(base)
}

/// Polls a timer that bounds something else.
///
/// What it bounds may have used up all that tokio lets a task do in one poll, each time anew. A timer that asked for a
/// share of that would then never be due.
pub(crate) fn poll_timer(timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
    pin!(coop::unconstrained(timer)).poll(cx)
}

/// A timer that is made when somebody waits, and set anew where the moment moves.
#[derive(Debug)]
pub(crate) struct Alarm(Option<(Monotonic, Pin<Box<Sleep>>)>);

impl Alarm {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Ready once `until` has come.
    pub(crate) fn poll(&mut self, until: Monotonic, cx: &mut Context<'_>) -> Poll<()> {
        let new = || (until, Box::pin(tokio::time::sleep_until(to_instant(until))));
        let (armed, timer) = self.0.get_or_insert_with(new);
        if *armed != until {
            timer.as_mut().reset(to_instant(until));
            *armed = until;
        }
        poll_timer(timer.as_mut(), cx)
    }
}

/// The wall clock: only for HTTP dates in responses that bear none of their own.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// Now, by the wall clock, for what outlives the process. As far ahead of it as tokio's clock is of the monotonic one, which
/// is where a test has paused that.
#[cfg(any(feature = "refresh", feature = "stale"))]
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn outliving() -> SystemTime {
    let (steady, ours, wall) = (std::time::Instant::now(), Instant::now().into_std(), wall());
    let moved = match ours.checked_duration_since(steady) {
        Some(ahead) => wall.checked_add(ahead),
        None => wall.checked_sub(steady.saturating_duration_since(ours)),
    };
    moved.unwrap_or(wall)
}

/// The same as a store counts.
#[cfg(feature = "refresh")]
pub(crate) fn stamp() -> Stamp {
    Stamp::of(outliving())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same_point() {
        let now = Instant::now();
        for at in [now, now + Duration::from_secs(3600), now - Duration::from_millis(5)] {
            assert_eq!(to_instant(from_instant(at)), at);
        }
        assert!(to_instant(Monotonic::NEVER) > now + Duration::from_secs(86_400 * 365));
    }
}
