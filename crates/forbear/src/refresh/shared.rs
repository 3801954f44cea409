//! What a refresh and its run share.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forbear_core::store::{StoreError, StoreFault, WorkStore};
use forbear_core::time::Monotonic;
use forbear_core::work::{Key, SourceName, Tally, Token};
use tokio::sync::Notify;

use super::builder::Settings;
use super::error::NotTaken;
use super::job::{Job, Ran};
use super::source::Source;
use crate::Families;

pub(super) struct Shared {
    pub(super) families: Families,
    pub(super) store: Arc<dyn WorkStore>,
    pub(super) sources: Vec<Known>,
    pub(super) names: Vec<SourceName>,
    pub(super) settings: Settings,
    pub(super) weights: BTreeMap<String, u32>,
    /// Somebody told something that the run should know.
    pub(super) told: Arc<Told>,
    pub(super) running: Once,
    live: Mutex<Live>,
}

/// One source.
pub(super) struct Known {
    pub(super) name: SourceName,
    pub(super) family: Arc<str>,
    pub(super) settings: Source,
    pub(super) job: Job,
    pub(super) totals: Totals,
}

/// What a source did, since the program began.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) done: AtomicU64,
    pub(super) deferred: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) released: AtomicU64,
    /// Runs whose claim was somebody else's when they ended.
    pub(super) stale: AtomicU64,
    /// Claims of processes that went.
    pub(super) reclaimed: AtomicU64,
}

/// What wakes a run, and what it is woken for.
#[derive(Debug, Default)]
pub(super) struct Told {
    notify: Notify,
    /// Sources whose next key may be another.
    dirty: Mutex<HashSet<usize>>,
    /// Families whose gate said something.
    gates: Mutex<HashSet<Arc<str>>>,
}

/// What is so only while the process lives.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Claims whose run is not over.
    pub(super) claims: HashMap<(usize, Key), Token>,
    /// Claims that somebody waits for.
    pub(super) claiming: HashSet<Token>,
    /// Claims of a run that was dropped, to be given back.
    pub(super) orphans: HashSet<(usize, Key, Token)>,
    /// What is wrong with the store.
    pub(super) fault: Option<StoreFault>,
    /// When it wakes by itself.
    pub(super) wake: Option<Monotonic>,
    /// How often the store lost all that it held.
    pub(super) losses: u64,
    /// How the sources stood when somebody asked last.
    pub(super) tallies: Vec<Tally>,
}

impl Shared {
    pub(super) fn new(
        families: Families,
        store: Arc<dyn WorkStore>,
        sources: Vec<Known>,
        settings: Settings,
        weights: BTreeMap<String, u32>,
    ) -> Self {
        let names = sources.iter().map(|source| source.name.clone()).collect();
        let (told, live) = (Arc::default(), Mutex::default());
        Self { families, store, sources, names, settings, weights, told, running: Once::default(), live }
    }

    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The family of a source.
    #[cfg(feature = "stale")]
    pub(super) fn family_of(&self, source: &str) -> Option<Arc<str>> {
        self.sources.get(self.find(source)?).map(|known| Arc::clone(&known.family))
    }

    /// A store failed. Where it lost all that it held, nobody demands anything any more.
    pub(super) fn failed(&self, error: &StoreError) {
        if error.fault() != StoreFault::Lost {
            return;
        }
        let mut live = self.live();
        live.losses = live.losses.saturating_add(1);
        drop(live);
        tracing::error!(%error, "the store of the refresh lost all demands; demand anew what is wanted");
        (0..self.sources.len()).for_each(|source| self.told.look_at(source));
    }

    /// What somebody is told whose wish a store did not take.
    pub(super) fn not_taken(&self, error: StoreError) -> NotTaken {
        self.failed(&error);
        NotTaken::Store(error)
    }

    pub(super) fn find(&self, source: &str) -> Option<usize> {
        self.sources.iter().position(|known| known.name.as_str() == source)
    }
}

impl Known {
    pub(super) fn new(name: SourceName, family: String, settings: Source, job: Job) -> Self {
        Self { name, family: family.into(), settings, job, totals: Totals::default() }
    }

    /// The furthest that a key of it is due ahead after it was done.
    pub(super) fn rest(&self) -> Duration {
        let Source { every, jitter, .. } = &self.settings;
        every.saturating_add(every.mul_f64(*jitter))
    }

    /// The furthest that any key of it is due ahead.
    pub(super) fn furthest(&self) -> Duration {
        let backoff = self.settings.backoff;
        // The longest that a vendor's word is taken for, and what is added to that.
        self.rest().max(backoff.1.saturating_mul(2)).max(Duration::from_secs(25 * 60 * 60))
    }
}

impl Totals {
    pub(super) fn of(&self, ran: &Ran) -> &AtomicU64 {
        match ran {
            Ran::Done => &self.done,
            Ran::Deferred(_) => &self.deferred,
            Ran::Failed(_) => &self.failed,
        }
    }
}

impl Told {
    pub(super) fn look_at(&self, source: usize) {
        self.dirty.lock().unwrap_or_else(PoisonError::into_inner).insert(source);
        self.notify.notify_one();
    }

    pub(super) fn gate(&self, family: &Arc<str>) {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(family));
        self.notify.notify_one();
    }

    pub(super) fn take(&self) -> (HashSet<usize>, HashSet<Arc<str>>) {
        let dirty = std::mem::take(&mut *self.dirty.lock().unwrap_or_else(PoisonError::into_inner));
        let gates = std::mem::take(&mut *self.gates.lock().unwrap_or_else(PoisonError::into_inner));
        (dirty, gates)
    }

    pub(super) fn notified(&self) -> tokio::sync::futures::Notified<'_> {
        self.notify.notified()
    }
}

/// One more.
pub(super) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// At most one at a time.
#[derive(Debug, Default)]
pub(super) struct Once(AtomicBool);

impl Once {
    pub(super) fn begin(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn end(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("sources", &self.names)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
