//! Vendors that limit.

use std::collections::VecDeque;
use std::time::Duration;

use forbear_core::time::Monotonic;

use super::{Answer, Vendor, limited_until};
use crate::START;

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
