//! Fixed windows.

use std::time::Duration;

use super::from_nanos;

#[derive(Debug)]
pub(super) struct Fixed {
    n: u32,
    window: u128,
    /// Which window was last looked at, from 0.
    index: u128,
    used: u32,
}

impl Fixed {
    pub(super) fn new(n: u32, window: Duration) -> Self {
        Self { n, window: window.as_nanos(), index: 0, used: 0 }
    }

    pub(super) fn wait(&mut self, now: Duration) -> Option<Duration> {
        let index = now.as_nanos() / self.window;
        if index != self.index {
            self.index = index;
            self.used = 0;
        }
        (self.used >= self.n).then(|| from_nanos(self.window - now.as_nanos() % self.window))
    }

    pub(super) fn take(&mut self) {
        self.used += 1;
    }
}
