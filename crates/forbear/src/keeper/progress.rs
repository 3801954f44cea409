use forbear_core::health::StoreState;
use forbear_core::store::StoreError;
use forbear_core::time::Monotonic;

/// How far the task is.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    /// All changes up to this one are durable.
    pub(super) stored: u64,
    /// How many families and parts were taken up, once the store answered.
    pub(super) loaded: Option<usize>,
    /// How often the store could not do it.
    pub(super) failures: u64,
    /// Rows written.
    pub(super) written: u64,
    /// Why it could not, while it cannot.
    pub(super) error: Option<StoreError>,
    /// Since when it can, or cannot.
    pub(super) since: Monotonic,
    /// The task is over.
    pub(super) ended: bool,
}

impl Progress {
    pub(super) const fn new(now: Monotonic) -> Self {
        Self { stored: 0, loaded: None, failures: 0, written: 0, error: None, since: now, ended: false }
    }

    pub(super) fn state(&self) -> StoreState {
        match (&self.error, self.loaded) {
            (Some(_), _) => StoreState::Degraded,
            (None, None) => StoreState::Loading,
            (None, Some(_)) => StoreState::Ready,
        }
    }

    /// It could not. Whether that is new.
    pub(super) fn failed(&mut self, error: StoreError, now: Monotonic) -> bool {
        self.failures = self.failures.wrapping_add(1);
        let new = self.error.is_none();
        if new {
            self.since = now;
        }
        self.error = Some(error);
        new
    }

    /// It could. Since when it could not before.
    pub(super) fn succeeded(&mut self, now: Monotonic) -> Option<Monotonic> {
        self.error.take()?;
        Some(std::mem::replace(&mut self.since, now))
    }
}
