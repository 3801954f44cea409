//! What is known of a vendor: what it answers to an attempt that reaches it at a given time.
//!
//! The oracle asks it, and the simulation over the gate alone has no other vendor. What the layers meet is the mock of the
//! same name in the [`catalogue`](crate::catalogue); that the two agree is shown by the oracle, which is played against
//! the mock too, and never refused.

use std::collections::VecDeque;
use std::time::Duration;

use forbear_core::time::Monotonic;

use crate::{SECOND, START};

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

/// At most `most` in each window of length `per`, windows one after another from [`START`]; the first `shut` windows
/// are used up by others.
pub struct Window {
    most: u32,
    per: Duration,
    shut: u64,
    index: u64,
    used: u32,
}

impl Window {
    /// At most `most` in each window of length `per`.
    #[must_use]
    pub fn new(most: u32, per: Duration) -> Self {
        Self { most, per, shut: 0, index: 0, used: 0 }
    }

    /// The first windows, so many, are used up by others.
    #[must_use]
    pub fn shut(self, windows: u64) -> Self {
        Self { shut: windows, ..self }
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
pub struct Sliding {
    most: usize,
    per: Duration,
    served: VecDeque<Monotonic>,
}

impl Sliding {
    /// At most `most` in any window of length `per`.
    #[must_use]
    pub fn new(most: usize, per: Duration) -> Self {
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
pub struct Ban {
    limit: Sliding,
    ban: Duration,
    until: Monotonic,
}

impl Ban {
    /// Bans for `ban` whoever passes `limit`.
    #[must_use]
    pub fn new(limit: Sliding, ban: Duration) -> Self {
        Self { limit, ban, until: START }
    }
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

/// At most `most` in flight, each for so long; no `Retry-After`.
pub struct Concurrency {
    most: usize,
    lasting: Duration,
    /// When those in flight are through.
    flying: VecDeque<Monotonic>,
}

impl Concurrency {
    /// At most `most` in flight, each for `lasting`.
    #[must_use]
    pub fn new(most: usize, lasting: Duration) -> Self {
        Self { most, lasting, flying: VecDeque::new() }
    }
}

impl Vendor for Concurrency {
    fn free(&mut self, now: Monotonic) -> bool {
        while self.flying.front().is_some_and(|through| *through < now) {
            self.flying.pop_front();
        }
        self.flying.len() < self.most
    }

    fn answer(&mut self, now: Monotonic) -> Answer {
        if self.free(now) {
            self.flying.push_back(now.after(self.lasting));
            return Answer::Good;
        }
        Answer::Limited(None)
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
