use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forbear_core::store::PurgeResponses;
use http::{HeaderMap, Uri};
use moka::ops::compute::Op;
use moka::sync::Cache;

use super::entry::Entry;
use super::key::Key;

/// Responses in memory, bounded by bytes: what was used least leaves first.
#[derive(Debug)]
pub(super) struct Memory {
    cache: Cache<Key, Arc<Variants>, foldhash::fast::RandomState>,
    /// How many bytes came since what is too much left last.
    came: AtomicU64,
    /// What is too much leaves once so many came: by itself it does so after a number of entries, however large.
    tidied: u64,
}

/// The responses to one URL, chosen among by `Vary`.
#[derive(Debug)]
struct Variants {
    family: Option<Arc<str>>,
    /// The newest first.
    entries: Box<[Arc<Entry>]>,
}

impl Memory {
    pub(super) fn new(bytes: u64) -> Self {
        let weigh = |_: &Key, variants: &Arc<Variants>| {
            let bytes: usize = variants.entries.iter().map(|entry| entry.weight()).sum();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(bytes).weigher(weigh);
        let cache = cache.build_with_hasher(foldhash::fast::RandomState::default());
        Self { cache, came: AtomicU64::new(0), tidied: bytes / 64 }
    }

    #[inline]
    pub(super) fn find(&self, key: Key, uri: &Uri, headers: &HeaderMap) -> Option<Arc<Entry>> {
        let variants = self.cache.get(&key)?;
        variants.entries.iter().find(|entry| entry.matches(uri, headers)).cloned()
    }

    pub(super) fn put(&self, key: Key, family: Option<&Arc<str>>, entry: &Arc<Entry>) {
        self.cache.entry(key).and_compute_with(|known| {
            let known = known.map(moka::Entry::into_value);
            let known = || known.iter().flat_map(|known| known.entries.iter());
            let others = known().filter(|old| !old.is_same_variant(entry));
            let entries: Box<[_]> =
                std::iter::once(entry).chain(others).take(Key::VARIANTS).cloned().collect();
            let stays = |old: &Arc<Entry>| entries.iter().any(|entry| Arc::ptr_eq(entry, old));
            known().filter(|old| !stays(old)).for_each(|old| old.is_gone());
            Op::Put(Arc::new(Variants { family: family.cloned(), entries }))
        });
        self.tidy(entry.weight());
    }

    fn tidy(&self, bytes: usize) {
        let bytes = bytes as u64;
        if self.came.fetch_add(bytes, Ordering::Relaxed) + bytes > self.tidied {
            self.came.store(0, Ordering::Relaxed);
            self.cache.run_pending_tasks();
        }
    }

    /// Adds what a store had: what is here is newer.
    pub(super) fn fill(&self, key: Key, family: Option<&Arc<str>>, found: &[Arc<Entry>]) {
        if found.is_empty() {
            return;
        }
        self.cache.entry(key).and_compute_with(|known| {
            let known = known.map(moka::Entry::into_value);
            let mut entries: Vec<_> = known.iter().flat_map(|known| known.entries.iter()).cloned().collect();
            add(&mut entries, found);
            entries.truncate(Key::VARIANTS);
            Op::Put(Arc::new(Variants { family: family.cloned(), entries: entries.into() }))
        });
        self.tidy(found.iter().map(|entry| entry.weight()).sum());
    }

    pub(super) fn remove(&self, key: Key) {
        if let Some(variants) = self.cache.remove(&key) {
            variants.entries.iter().for_each(|entry| entry.is_gone());
        }
    }

    /// How many responses there were.
    pub(super) fn purge(&self, what: &PurgeResponses) -> u64 {
        let mut purged = 0;
        for (key, variants) in &self.cache {
            if variants.fits(what) {
                self.remove(*key);
                purged += variants.entries.len() as u64;
            }
        }
        purged
    }

    pub(super) fn size(&self) -> (u64, u64) {
        self.cache.run_pending_tasks();
        (self.cache.weighted_size(), self.cache.entry_count())
    }
}

/// Adds each that none of those before answers for.
pub(super) fn add(entries: &mut Vec<Arc<Entry>>, more: &[Arc<Entry>]) {
    for entry in more {
        if !entries.iter().any(|newer| newer.is_same_variant(entry)) {
            entries.push(Arc::clone(entry));
        }
    }
}

impl Variants {
    fn fits(&self, what: &PurgeResponses) -> bool {
        match what {
            PurgeResponses::All => true,
            PurgeResponses::Host(host) => self.entries.first().is_some_and(|entry| entry.host() == *host),
            PurgeResponses::Family(family) => self.family.as_ref() == Some(family),
            _ => false,
        }
    }
}
