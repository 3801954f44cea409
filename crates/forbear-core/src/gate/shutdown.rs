//! The end: nobody waits any more, and nobody is sent for it.

use std::sync::Arc;

use std::task::Waker;

use crate::sync::atomic::Ordering;
use crate::time::Monotonic;

use super::decision::RefusalCause;
use super::engine::{GATES, Gate};
use super::listen::Listeners;
use super::queue::Key;
use super::state::State;
use super::waiting::Next;

impl Listeners {
    /// Ends every wait at the gates that tell these listeners, also of those that no table holds any more: each caller
    /// is woken and refused, and whoever would have to wait later is refused at once. What needs no wait goes on. How
    /// many waited; `None` where this was called before.
    pub fn shut_down(self: &Arc<Self>, now: Monotonic) -> Option<usize> {
        // Set before the gates are looked through: a gate that is made meanwhile is seen here, or sees it.
        let before = self.shutdown.swap(true, Ordering::AcqRel);
        let ours = |gate: &Arc<Gate>| gate.listeners().is_some_and(|listeners| Arc::ptr_eq(listeners, self));
        let mut waiting: usize = 0;
        for gate in GATES.all().iter().filter(|gate| ours(gate)) {
            let (waited, _) = gate.with(|state| {
                state.wake_all(now);
                state.queue.len()
            });
            let paced = gate.shut_down_pacing(now);
            waiting = waiting.saturating_add(waited).saturating_add(paced);
        }
        (!before).then_some(waiting)
    }

    /// Whether nobody waits any more.
    #[must_use]
    pub fn shuts_down(&self) -> bool {
        self.shutdown.load(Ordering::Acquire)
    }
}

impl Gate {
    /// Whether nobody waits for it any more.
    #[must_use]
    pub fn shuts_down(&self) -> bool {
        self.listeners().is_some_and(|listeners| listeners.shuts_down())
    }
}

impl State {
    /// The wait of the caller at `key` is over, served or not.
    pub(super) fn dismiss(&mut self, key: Key, waker: Waker, now: Monotonic) -> Next {
        self.advance(now);
        self.spent.push(waker);
        self.leave(key);
        Next::Refused(self.refuse(RefusalCause::ShuttingDown, self.retry_at(), now))
    }
}
