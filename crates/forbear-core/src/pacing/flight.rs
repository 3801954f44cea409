use std::sync::Arc;

use super::entry::Entry;
use super::pacer::Pacer;

/// Whether what is held back waits in another queue.
pub(super) type Queued = bool;

/// An attempt that is counted as in flight; dropped, it is so no longer.
#[derive(Debug)]
#[must_use = "an attempt is in flight only while this lives"]
pub struct Flight {
    pub(super) pacer: Arc<Pacer>,
    pub(super) cost: u32,
    /// Whether it is counted as in flight.
    pub(super) counted: bool,
    pub(super) further: bool,
    /// Whether it is held back, and if so, whether in another queue.
    pub(super) held: Option<Queued>,
}

impl Flight {
    #[inline]
    pub(super) fn new(pacer: Arc<Pacer>, entry: &Entry, counted: bool) -> Self {
        Self { pacer, cost: entry.cost, counted, further: entry.further, held: None }
    }

    // Not within the drop of every attempt that is not counted.
    #[inline(never)]
    fn end(&self) {
        if self.held.is_none() && self.pacer.lock().ended_alone() {
            return;
        }
        self.pacer.with(|state| {
            if let Some(queued) = self.held {
                state.release(self.cost, queued);
            }
            if self.counted {
                state.ended();
            }
        });
        if self.held.is_some() {
            self.pacer.not_sent(self.further);
        }
    }
}

impl Drop for Flight {
    #[inline]
    fn drop(&mut self) {
        if self.held.is_some() || self.counted {
            self.end();
        }
    }
}
