//! The sliding window.

use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Sliding {
    n: usize,
    window: Duration,
    /// When those came that still count, oldest first.
    admitted: VecDeque<Duration>,
}

impl Sliding {
    pub(super) fn new(n: u32, window: Duration) -> Self {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        Self { n, window, admitted: VecDeque::new() }
    }

    pub(super) fn wait(&mut self, now: Duration) -> Option<Duration> {
        while self.admitted.front().is_some_and(|&at| now.saturating_sub(at) >= self.window) {
            self.admitted.pop_front();
        }
        if self.admitted.len() < self.n {
            return None;
        }
        self.admitted.front().map(|&at| self.window - now.saturating_sub(at))
    }

    pub(super) fn take(&mut self, now: Duration) {
        self.admitted.push_back(now);
    }
}
