//! The token bucket.

use std::time::Duration;

use super::from_nanos;

/// Counts in parts of a token so small that `n` of them come in each nanosecond: no rounding, however long it runs.
#[derive(Debug)]
pub(super) struct Bucket {
    n: u128,
    /// Parts that make a token: the nanoseconds in which `n` tokens come.
    token: u128,
    full: u128,
    level: u128,
    at: Duration,
}

impl Bucket {
    pub(super) fn new(n: u32, per: Duration, burst: u32) -> Self {
        let token = per.as_nanos();
        let full = token * u128::from(burst);
        Self { n: n.into(), token, full, level: full, at: Duration::ZERO }
    }

    pub(super) fn wait(&mut self, now: Duration) -> Option<Duration> {
        let gained = now.saturating_sub(self.at).as_nanos() * self.n;
        self.level = self.level.saturating_add(gained).min(self.full);
        self.at = now;
        let lacking = self.token.saturating_sub(self.level);
        (lacking > 0).then(|| from_nanos(lacking.div_ceil(self.n)))
    }

    pub(super) fn take(&mut self) {
        self.level = self.level.saturating_sub(self.token);
    }
}
