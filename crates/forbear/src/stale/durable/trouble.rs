//! A store that fails is asked less and less often, and an operator is told once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use forbear_core::store::StoreError;
use forbear_core::time::Monotonic;

use crate::clock;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);

/// How one kind of work goes.
#[derive(Debug)]
pub(super) struct Trouble {
    /// What does not work: `read`, `write`.
    doing: &'static str,
    /// Until when it is not tried, in nanoseconds.
    rests: AtomicU64,
    state: Mutex<Option<Failing>>,
}

#[derive(Debug, Clone, Copy)]
struct Failing {
    since: Monotonic,
    pause: Duration,
}

impl Trouble {
    pub(super) const fn new(doing: &'static str) -> Self {
        Self { doing, rests: AtomicU64::new(0), state: Mutex::new(None) }
    }

    /// Whether it is to be left alone.
    pub(super) fn rests(&self, now: Monotonic) -> bool {
        let until = self.rests.load(Ordering::Relaxed);
        until > 0 && now < Monotonic::from_nanos(until)
    }

    /// It failed. How long to leave it alone.
    pub(super) fn failed(&self, store: &str, error: &StoreError) -> Duration {
        let now = clock::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.rests(now) {
            // Many were asked at once: it is the same fault.
            return Monotonic::from_nanos(self.rests.load(Ordering::Relaxed)).since(now);
        }
        let failing = match *state {
            Some(Failing { since, pause }) => Failing { since, pause: (pause * 2).min(LONGEST) },
            None => Failing { since: now, pause: FIRST },
        };
        let is_news = state.replace(failing).is_none();
        self.rests.store(now.after(failing.pause).as_nanos(), Ordering::Relaxed);
        drop(state);
        if is_news {
            tracing::warn!(
                store,
                doing = self.doing,
                cause = error.cause(),
                "store of answers is degraded; what is in memory is served on"
            );
        }
        failing.pause
    }

    /// It worked.
    pub(super) fn worked(&self, store: &str) {
        if self.rests.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let failing = state.take();
        self.rests.store(0, Ordering::Relaxed);
        drop(state);
        if let Some(failing) = failing {
            let degraded_ms = clock::now().since(failing.since).as_millis() as u64;
            tracing::info!(store, doing = self.doing, degraded_ms, "store of answers is well again");
        }
    }
}
