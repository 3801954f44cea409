//! Whether a middleware after this one sends again what was limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http::{Extensions, StatusCode};

use crate::order::Multiplied;

/// How many attempts are looked at from the first on, and after each limited answer.
const LOOKED_AT: u32 = 100;

/// Request extension that counts its clones: a middleware that may send again sends clones of the request, which have clones
/// of its extensions.
#[derive(Debug)]
pub(super) struct Clones(Arc<AtomicU32>);

impl Clone for Clones {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

/// What is known about the middleware after this one. Some clone every request, in case; how many clones that makes is
/// learned.
#[derive(Debug)]
pub(super) struct Resent {
    least: AtomicU32,
    left: AtomicU32,
    mistake: Multiplied,
}

impl Resent {
    pub(super) const fn new() -> Self {
        Self {
            least: AtomicU32::new(u32::MAX),
            left: AtomicU32::new(LOOKED_AT),
            mistake: Multiplied::retry_below(),
        }
    }

    /// Marks a request, where it is looked at.
    pub(super) fn mark(&self, extensions: &mut Extensions) -> Option<Clones> {
        let left = self.left.load(Ordering::Relaxed).checked_sub(1)?;
        self.left.store(left, Ordering::Relaxed);
        let count = Arc::default();
        extensions.insert(Clones(Arc::clone(&count)));
        Some(Clones(count))
    }

    /// An answer came to a request that can be cloned.
    pub(super) fn answered(&self, clones: Option<&Clones>, status: StatusCode) {
        let limited = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        if limited {
            self.left.store(LOOKED_AT, Ordering::Relaxed);
        }
        let Some(Clones(count)) = clones else { return };
        let clones = count.load(Ordering::Relaxed);
        let least = self.least.fetch_min(clones, Ordering::Relaxed);
        if limited && least < clones && least != u32::MAX {
            self.mistake.report();
        }
    }
}
