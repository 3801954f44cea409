//! A pause holds for a family and all of its parts, from one place, so that no part is left behind.

use std::sync::{Arc, PoisonError};

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

use super::operator::Acted;

/// Whether an operator paused a family, and who did. A family's gate and those of its parts share one.
#[derive(Debug)]
pub(super) struct Pause {
    shared: Arc<Shared>,
    /// Whether it is the family's own, not that of a part.
    of_family: bool,
}

#[derive(Debug, Default)]
struct Shared {
    on: AtomicBool,
    by: Mutex<Option<Arc<Acted>>>,
}

impl Pause {
    /// Of a family: not paused.
    pub(super) fn new() -> Self {
        Self { shared: Arc::default(), of_family: true }
    }

    /// The same for a part of that family.
    pub(super) fn of_part(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), of_family: false }
    }

    pub(super) fn is_on(&self) -> bool {
        self.shared.on.load(Ordering::Acquire)
    }

    /// Who paused it.
    pub(super) fn by(&self) -> Option<Arc<Acted>> {
        self.is_on().then(|| self.shared.by.lock().unwrap_or_else(PoisonError::into_inner).clone()).flatten()
    }

    /// What health shows as a pause: the family is paused, its parts stand where they stand.
    pub(super) fn shown(&self) -> Option<Arc<Acted>> {
        self.by().filter(|_| self.of_family)
    }

    /// Pauses, or ends it. Under the lock of the family's gate, so that one follows the other.
    pub(super) fn set(&self, by: Option<Arc<Acted>>) {
        let on = by.is_some();
        *self.shared.by.lock().unwrap_or_else(PoisonError::into_inner) = by;
        self.shared.on.store(on, Ordering::Release);
    }
}
