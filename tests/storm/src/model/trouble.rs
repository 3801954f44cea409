//! Vendors that are well, and vendors in trouble.

use std::time::Duration;

use forbear_core::time::Monotonic;

use super::{Answer, Vendor, limited_until};
use crate::{SECOND, START};

/// Serves everything.
pub struct Healthy;

impl Vendor for Healthy {
    fn free(&mut self, _: Monotonic) -> bool {
        true
    }

    fn answer(&mut self, _: Monotonic) -> Answer {
        Answer::Good
    }
}

/// Refuses everything.
pub struct Closed(pub Option<Duration>);

impl Vendor for Closed {
    fn free(&mut self, _: Monotonic) -> bool {
        false
    }

    fn answer(&mut self, _: Monotonic) -> Answer {
        Answer::Limited(self.0)
    }
}

/// Refuses everything with a fixed `Retry-After` within its outage; a token bucket otherwise, full at first.
pub struct Outage {
    from: Monotonic,
    until: Monotonic,
    retry_after: Duration,
    /// Tokens per second, and as many fit in.
    rate: u64,
    /// In billionths of a token, so that nothing is rounded.
    level: u128,
    at: Monotonic,
}

const TOKEN: u128 = 1_000_000_000;

impl Outage {
    /// An outage of this length, in which `retry_after` is told; a bucket of `rate` per second otherwise.
    #[must_use]
    pub fn new(from: Monotonic, lasting: Duration, retry_after: Duration, rate: u64) -> Self {
        let level = u128::from(rate) * TOKEN;
        Self { from, until: from.after(lasting), retry_after, rate, level, at: START }
    }
}

impl Vendor for Outage {
    fn free(&mut self, now: Monotonic) -> bool {
        let rate = u128::from(self.rate);
        self.level = (self.level + now.since(self.at).as_nanos() * rate).min(rate * TOKEN);
        self.at = now;
        (now < self.from || now >= self.until) && self.level >= TOKEN
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            self.level -= TOKEN;
            Answer::Good
        } else if now < self.from || now >= self.until {
            Answer::Limited(Some(SECOND))
        } else {
            Answer::Limited(Some(self.retry_after))
        }
    }
}

/// Serves so many attempts, then refuses everything for a while, counted from the soonest that the next could come.
pub struct FromNth {
    serves: u32,
    lasting: Duration,
    served: u32,
    until: Monotonic,
}

/// The least time that a caller without pause takes from one attempt to the next.
pub const NEXT: Duration = Duration::from_millis(40);

impl FromNth {
    /// Refuses for `lasting` from the attempt of number `nth` on.
    #[must_use]
    pub fn new(nth: u32, lasting: Duration) -> Self {
        Self { serves: nth - 1, lasting, served: 0, until: START }
    }
}

impl Vendor for FromNth {
    fn free(&mut self, now: Monotonic) -> bool {
        self.served < self.serves || now >= self.until
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if !self.free(now) {
            return limited_until(self.until, now);
        }
        self.served += 1;
        if self.served == self.serves {
            self.until = now.after(NEXT + self.lasting);
        }
        Answer::Good
    }
}

/// Refuses for one span and serves for the next, in turn.
pub struct Pulse(pub Duration);

impl Vendor for Pulse {
    fn free(&mut self, now: Monotonic) -> bool {
        (now.since(START).as_nanos() / self.0.as_nanos()) % 2 == 1
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            return Answer::Good;
        }
        let spans = u32::try_from(now.since(START).as_nanos() / self.0.as_nanos()).unwrap();
        limited_until(START.after(self.0 * (spans + 1)), now)
    }
}
