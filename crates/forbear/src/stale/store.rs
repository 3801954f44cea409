use std::sync::Arc;

use http::{HeaderMap, Uri};
use moka::ops::compute::Op;
use moka::sync::Cache;

use super::entry::Entry;
use super::key::Key;

/// So many responses to one URL, chosen among by `Vary`; of more the oldest leaves.
const VARIANTS: usize = 16;

/// Responses in memory, bounded by bytes: what was used least leaves first.
#[derive(Debug)]
pub(super) struct Store(Cache<Key, Arc<[Arc<Entry>]>>);

impl Store {
    pub(super) fn memory(bytes: u64) -> Self {
        let weigh = |_: &Key, variants: &Arc<[Arc<Entry>]>| {
            let bytes: usize = variants.iter().map(|entry| entry.weight()).sum();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(bytes).weigher(weigh).build())
    }

    /// The response to this request, stale or not; of several the newest.
    pub(super) fn find(&self, key: Key, uri: &Uri, headers: &HeaderMap) -> Option<Arc<Entry>> {
        let variants = self.0.get(&key)?;
        variants.iter().find(|entry| entry.matches(uri, headers)).cloned()
    }

    /// Stores a response in the place of what it makes old.
    pub(super) fn put(&self, key: Key, entry: &Arc<Entry>) {
        self.0.entry(key).and_compute_with(|known| {
            let known = known.map(moka::Entry::into_value);
            let others =
                known.iter().flat_map(|known| known.iter()).filter(|old| !old.is_same_variant(entry));
            let variants = std::iter::once(entry).chain(others).take(VARIANTS).cloned().collect();
            Op::Put(variants)
        });
    }

    /// Forgets all responses to a URL.
    pub(super) fn remove(&self, key: Key) {
        self.0.invalidate(&key);
    }

    /// How many bytes are stored, about, and under how many keys.
    pub(super) fn size(&self) -> (u64, u64) {
        self.0.run_pending_tasks();
        (self.0.weighted_size(), self.0.entry_count())
    }
}
