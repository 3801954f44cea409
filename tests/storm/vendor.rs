//! Simulated vendors: what each answers to an attempt that reaches it at a given time.

use std::collections::VecDeque;
use std::time::Duration;

use forbear_core::time::Monotonic;

use super::{SECOND, START};

/// What a vendor answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 200.
    Good,
    /// 429, with a `Retry-After` in whole seconds where it gives one.
    Limited(Option<Duration>),
}

/// A vendor. Attempts reach it in the order of time.
pub(crate) trait Vendor: Send {
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

/// Serves everything.
pub(crate) struct Healthy;

impl Vendor for Healthy {
    fn free(&mut self, _: Monotonic) -> bool {
        true
    }

    fn answer(&mut self, _: Monotonic) -> Answer {
        Answer::Good
    }
}

/// Refuses everything.
pub(crate) struct Closed(pub Option<Duration>);

impl Vendor for Closed {
    fn free(&mut self, _: Monotonic) -> bool {
        false
    }

    fn answer(&mut self, _: Monotonic) -> Answer {
        Answer::Limited(self.0)
    }
}

/// Refuses everything with a fixed `Retry-After` within its outage; a token bucket otherwise, full at first.
pub(crate) struct Outage {
    pub(crate) from: Monotonic,
    pub(crate) until: Monotonic,
    pub(crate) retry_after: Duration,
    pub(crate) rate: f64,
    pub(crate) tokens: f64,
    pub(crate) at: Monotonic,
}

impl Outage {
    pub(crate) fn new(from: Monotonic, lasting: Duration, retry_after: Duration, rate: f64) -> Self {
        Self { from, until: from.after(lasting), retry_after, rate, tokens: rate, at: START }
    }
}

impl Vendor for Outage {
    fn free(&mut self, now: Monotonic) -> bool {
        self.tokens = (self.tokens + now.since(self.at).as_secs_f64() * self.rate).min(self.rate);
        self.at = now;
        (now < self.from || now >= self.until) && self.tokens >= 1.0
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            self.tokens -= 1.0;
            Answer::Good
        } else if now < self.from || now >= self.until {
            Answer::Limited(Some(SECOND))
        } else {
            Answer::Limited(Some(self.retry_after))
        }
    }
}

/// At most `most` in each window of length `per`, windows one after another from [`START`]; the first `shut` windows
/// are used up by others.
pub(crate) struct Window {
    pub(crate) most: u32,
    pub(crate) per: Duration,
    pub(crate) shut: u64,
    pub(crate) index: u64,
    pub(crate) used: u32,
}

impl Window {
    pub(crate) fn new(most: u32, per: Duration) -> Self {
        Self { most, per, shut: 0, index: 0, used: 0 }
    }
}

impl Vendor for Window {
    fn free(&mut self, now: Monotonic) -> bool {
        let index = u64::try_from(now.since(START).as_nanos() / self.per.as_nanos()).unwrap();
        if index != self.index {
            (self.index, self.used) = (index, 0);
        }
        index >= self.shut && self.used < self.most
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            self.used += 1;
            return Answer::Good;
        }
        let next = u32::try_from(self.index + 1).unwrap();
        limited_until(START.after(self.per * next), now)
    }
}

/// At most `most` in any window of length `per`.
pub(crate) struct Sliding {
    pub(crate) most: usize,
    pub(crate) per: Duration,
    pub(crate) served: VecDeque<Monotonic>,
}

impl Sliding {
    pub(crate) fn new(most: usize, per: Duration) -> Self {
        Self { most, per, served: VecDeque::new() }
    }
}

impl Vendor for Sliding {
    fn free(&mut self, now: Monotonic) -> bool {
        while self.served.front().is_some_and(|at| now.since(*at) >= self.per) {
            self.served.pop_front();
        }
        self.served.len() < self.most
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            self.served.push_back(now);
            return Answer::Good;
        }
        limited_until(self.served[0].after(self.per), now)
    }
}

/// Bans for `ban` whoever passes a limit, and begins the ban anew for every call meanwhile.
pub(crate) struct Ban {
    pub(crate) limit: Sliding,
    pub(crate) ban: Duration,
    pub(crate) until: Monotonic,
}

impl Vendor for Ban {
    fn free(&mut self, now: Monotonic) -> bool {
        now >= self.until && self.limit.free(now)
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            return self.limit.answer(now);
        }
        self.until = now.after(self.ban);
        limited_until(self.until, now)
    }
}

/// Refuses everything for a while from the attempt of number `nth` on.
pub(crate) struct FromNth {
    pub(crate) nth: u32,
    pub(crate) lasting: Duration,
    pub(crate) seen: u32,
    pub(crate) until: Option<Monotonic>,
}

impl Vendor for FromNth {
    fn free(&mut self, now: Monotonic) -> bool {
        if self.seen + 1 < self.nth {
            return true;
        }
        now >= *self.until.get_or_insert(now.after(self.lasting))
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            self.seen += 1;
            return Answer::Good;
        }
        limited_until(self.until.unwrap(), now)
    }
}

/// Refuses for one span and serves for the next, in turn.
pub(crate) struct Pulse(pub Duration);

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
