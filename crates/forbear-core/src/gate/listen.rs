//! Who is told what a gate has to say, besides the log.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use std::sync::{Arc, PoisonError};

use crate::sync::RwLock;
use crate::sync::atomic::AtomicBool;

use super::account::Accounts;
use super::engine::Gate;
use super::event::Event;
use super::totals::Totals;

type Listener = Arc<dyn Fn(&Gate, &Event) -> Hears + Send + Sync>;

/// Whether a listener wants to be told more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    /// It does.
    More,
    /// It is gone, and is forgotten.
    NoMore,
}

/// What the gates of a set share: callbacks for their events, accounts of what they did, and whether callers may still wait
/// for them. Not reached on the happy path.
#[derive(Default)]
pub struct Listeners {
    all: RwLock<Vec<Listener>>,
    accounts: Accounts,
    /// Whether nobody waits any more.
    pub(super) shutdown: AtomicBool,
}

impl Listeners {
    /// Calls `listener` with every later event, and the gate that it is of: a family's, or that of a part.
    pub fn add(&self, listener: impl Fn(&Gate, &Event) -> Hears + Send + Sync + 'static) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(listener));
    }

    fn all(&self) -> Vec<Listener> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn accounts(&self) -> &Accounts {
        &self.accounts
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
        let mut panicked: usize = 0;
        for listener in listeners.all() {
            match tell(&listener) {
                Ok(Hears::More) => {}
                Ok(Hears::NoMore) => {
                    let mut all = listeners.all.write().unwrap_or_else(PoisonError::into_inner);
                    all.retain(|known| !Arc::ptr_eq(known, &listener));
                }
                Err(_) => panicked = panicked.saturating_add(1),
            }
        }
        panicked
    }
}
