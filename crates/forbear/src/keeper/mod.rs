//! Keeps where families stand in a store, for the next process. On no caller's way: a task of its own writes and reads.

mod changes;
mod known;
mod pauses;
mod progress;
mod soon;
mod task;
mod write;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forbear_core::families::Families;
use forbear_core::health::StoreHealth;
use forbear_core::store::{CooldownStore, StoreError, StoreFault};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use crate::clock;

use changes::Changes;
use progress::Progress;

/// Owns the task: it ends when this is dropped, which goes with the families, and has written by then what it could.
#[derive(Debug)]
pub(crate) struct Keeper(Arc<Shared>);

/// What the gates, the callers and the task share.
#[derive(Debug)]
struct Shared {
    store: Arc<dyn CooldownStore>,
    changes: Mutex<Changes>,
    /// There is something to do.
    wake: Notify,
    progress: watch::Sender<Progress>,
}

impl Shared {
    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, ask: impl FnOnce(&mut Changes)) {
        ask(&mut self.changes());
        self.wake.notify_one();
    }
}

impl Keeper {
    /// Begins to keep `families` in `store`: a task of the runtime that this is called in. It holds the families not.
    pub(crate) fn begin(families: &Families, store: Arc<dyn CooldownStore>) -> Result<(), &'static str> {
        let runtime = Handle::try_current()
            .map_err(|_| "a store needs a task that writes; build the families inside a tokio runtime")?;
        let shared = Arc::new(Shared {
            store,
            changes: Mutex::default(),
            wake: Notify::new(),
            progress: watch::Sender::new(Progress::new(clock::now())),
        });
        let told = Arc::clone(&shared);
        families.listeners().watch(move |gate| {
            if told.changes().note(gate) {
                told.wake.notify_one();
            }
        });
        let _ = families.accompany(Arc::new(Self(Arc::clone(&shared))));
        drop(runtime.spawn(task::run(shared, families.id())));
        Ok(())
    }

    /// The keeper of these families, where they have one.
    pub(crate) fn of(families: &Families) -> Option<&Self> {
        families.companion()
    }

    /// Returns once the store's answer to what it held is taken up, or it could not tell.
    pub(crate) async fn loaded(&self) -> Result<usize, StoreError> {
        let mut progress = self.0.progress.subscribe();
        let failed = progress.borrow().failures;
        let seen = progress
            .wait_for(|progress| progress.loaded.is_some() || progress.failures > failed || progress.ended);
        let seen = seen.await.map_err(|_| ended())?.clone();
        seen.loaded.ok_or_else(|| seen.error.unwrap_or_else(ended))
    }

    /// Returns once all that changed until now is durable, or could not be written.
    pub(crate) async fn stored(&self) -> Result<(), StoreError> {
        let mut progress = self.0.progress.subscribe();
        let failed = progress.borrow().failures;
        let mut target = 0;
        self.0.ask(|changes| {
            changes.urgent = true;
            target = changes.made;
        });
        let done = |progress: &Progress| progress.stored >= target && progress.loaded.is_some();
        let seen =
            progress.wait_for(|progress| done(progress) || progress.failures > failed || progress.ended);
        let seen = seen.await.map_err(|_| ended())?.clone();
        if done(&seen) { Ok(()) } else { Err(seen.error.unwrap_or_else(ended)) }
    }

    /// Families came that the store may know of.
    pub(crate) fn look_again(&self) {
        self.0.ask(|changes| changes.load = true);
    }

    /// From now on all is written at once.
    pub(crate) fn hurry(&self) {
        self.0.ask(|changes| changes.hurried = true);
    }

    /// For an operator.
    pub(crate) fn health(&self) -> StoreHealth {
        let pending = self.0.changes().pending();
        let note = self.0.store.note().map(Into::into);
        let progress = self.0.progress.borrow();
        StoreHealth {
            store: self.0.store.name().into(),
            state: progress.state(),
            cause: progress.error.as_ref().map(|error| error.cause().into()),
            since: Some(clock::now().since(progress.since)),
            pending,
            note,
        }
    }

    /// What it wrote, and how often it could not.
    #[cfg(feature = "metrics")]
    pub(crate) fn counts(&self) -> (u64, u64) {
        let progress = self.0.progress.borrow();
        (progress.written, progress.failures)
    }
}

/// What the task is asked for, in an error.
const KEEPING: &str = "keep cool-downs";

/// The task is over: its runtime is.
fn ended() -> StoreError {
    StoreError::new(StoreFault::Closed, KEEPING)
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.ask(|changes| changes.closed = true);
    }
}
