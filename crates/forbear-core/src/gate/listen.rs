//! Who is told what a gate has to say, besides the log.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use std::sync::{Arc, PoisonError};

use crate::sync::RwLock;
use crate::sync::atomic::{AtomicBool, Ordering};

use super::account::Accounts;
use super::engine::Gate;
use super::event::Event;
use super::totals::Totals;
use crate::stale::{StaleCounts, StaleTotals};

type Listener = Arc<dyn Fn(&Gate, &Event) + Send + Sync>;
type Watcher = Arc<dyn Fn(&Gate) + Send + Sync>;

/// Names a listener, to [forget](Listeners::forget) it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerId(u64);

/// Those who listen, in the order in which they came.
#[derive(Default)]
struct All {
    listeners: Vec<(ListenerId, Listener)>,
    came: u64,
}

/// What the gates of a set share: callbacks for their events, accounts of what they did, and whether callers may still wait
/// for them. Not reached on the happy path.
#[derive(Default)]
pub struct Listeners {
    all: RwLock<All>,
    accounts: Accounts,
    /// Whether nobody waits any more.
    pub(super) shutdown: AtomicBool,
    watched: AtomicBool,
    watcher: RwLock<Option<Watcher>>,
}

impl Listeners {
    /// Calls `listener` with every later event, and the gate that it is of: a family's, or that of a part. Until it is
    /// forgotten.
    pub fn add(&self, listener: impl Fn(&Gate, &Event) + Send + Sync + 'static) -> ListenerId {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.came = all.came.wrapping_add(1);
        let id = ListenerId(all.came);
        all.listeners.push((id, Arc::new(listener)));
        id
    }

    /// Tells a listener nothing more. What it held is let go here, or with the event that it is just told.
    pub fn forget(&self, id: ListenerId) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let at = all.listeners.iter().position(|(known, _)| *known == id);
        let forgotten = at.map(|at| all.listeners.remove(at));
        // It is somebody else's code that goes, so not under the lock.
        drop(all);
        drop(forgotten);
    }

    /// Calls `watcher` with every gate of which a store would have to know more than before; under no lock of a gate. One
    /// that came before is told nothing more.
    pub fn watch(&self, watcher: impl Fn(&Gate) + Send + Sync + 'static) {
        let before = self.watcher.write().unwrap_or_else(PoisonError::into_inner).replace(Arc::new(watcher));
        self.watched.store(true, Ordering::Release);
        drop(before);
    }

    /// Nobody is told any more what a store would have to know.
    pub fn unwatch(&self) {
        self.watched.store(false, Ordering::Release);
        let gone = self.watcher.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(gone);
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    pub(super) fn tell_watchers(&self, gate: &Gate) {
        let watcher = self.watcher.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(watcher) = watcher {
            // It is the keeper's, and has no word for it where it panics: the next change is told again.
            let _ = catch_unwind(AssertUnwindSafe(|| watcher(gate)));
        }
    }

    fn all(&self) -> Vec<Listener> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.listeners.iter().map(|(_, listener)| Arc::clone(listener)).collect()
    }

    pub(super) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// What is counted of the answers of all automatic families, and of what is no family's.
    #[must_use]
    pub fn stale_of_others(&self) -> &Arc<StaleCounts> {
        self.accounts.stale_of_others()
    }

    /// The same, where anything was.
    pub(crate) fn stale_totals_of_others(&self) -> Option<StaleTotals> {
        self.accounts.automatic().stale_totals()
    }

    /// What the gates of every family did, those that are gone among them; `None` names the automatic families, all
    /// together. Never less than before.
    #[must_use]
    pub fn totals(&self) -> Vec<(Option<Arc<str>>, Totals)> {
        self.accounts.totals()
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listeners").field(&self.all().len()).finish()
    }
}

impl Gate {
    /// Tells an event to whoever listens; under no lock, so that a listener may look at the gate. How many of them
    /// panicked: a listener is somebody else's code, and what it does is no news of the vendor.
    #[must_use]
    pub fn tell(&self, event: &Event) -> usize {
        let Some(listeners) = self.listeners() else { return 0 };
        let tell = |listener: &Listener| catch_unwind(AssertUnwindSafe(|| listener(self, event)));
        listeners.all().iter().filter(|listener| tell(listener).is_err()).count()
    }
}
