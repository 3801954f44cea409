use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::work::Stamp;

use super::super::{StoreError, StoreFault, StoreFuture};
use super::entry::{CooldownEntry, CooldownKey};
use super::record::{Absorbed, CooldownRecord};
use super::{CooldownStore, Loaded};

/// Cool-downs in memory: for tests, and for several sets of families of one process. Clones share everything. It lasts as
/// long as the last clone.
///
/// Holds at most 100,000 rows of some 400 bytes; what says nothing any more makes room.
#[derive(Debug, Clone, Default)]
pub struct MemoryCooldowns(Arc<Mutex<HashMap<CooldownKey, CooldownRecord>>>);

/// So many rows are held.
const MOST: usize = 100_000;

impl MemoryCooldowns {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<CooldownKey, CooldownRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load_now(&self, now: Stamp) -> Loaded {
        let mut rows = self.rows();
        let mended = rows.values_mut().map(|record| record.mend(now)).filter(|mended| *mended).count();
        let known = rows.iter().filter(|(_, record)| record.forget_at() > now);
        let entries = known.map(|(key, record)| record.entry(key.clone(), now)).collect();
        Loaded { entries, mended }
    }

    fn save_now(&self, entries: Vec<CooldownEntry>, now: Stamp) -> Result<Vec<CooldownEntry>, StoreError> {
        let mut rows = self.rows();
        if rows.len().saturating_add(entries.len()) > MOST {
            rows.retain(|_, record| record.forget_at() > now);
        }
        let new = entries.iter().filter(|entry| !rows.contains_key(&entry.key)).count();
        if rows.len().saturating_add(new) > MOST {
            return Err(StoreError::new(StoreFault::Full, "keep cool-downs"));
        }
        let mut newer = Vec::new();
        for entry in entries {
            match rows.get_mut(&entry.key) {
                Some(record) => {
                    if !matches!(record.absorb(&entry, now), Absorbed::Taken) {
                        newer.push(record.entry(entry.key, now));
                    }
                }
                None => {
                    let record = CooldownRecord::new(&entry, now);
                    rows.insert(entry.key, record);
                }
            }
        }
        Ok(newer)
    }
}

impl CooldownStore for MemoryCooldowns {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn load(&self, now: Stamp) -> StoreFuture<'_, Loaded> {
        Box::pin(ready(Ok(self.load_now(now))))
    }

    fn save(&self, entries: Vec<CooldownEntry>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        Box::pin(ready(self.save_now(entries, now)))
    }

    fn look_up(&self, keys: Vec<CooldownKey>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        let rows = self.rows();
        let found = keys.into_iter().filter_map(|key| Some(rows.get(&key)?.entry(key, now))).collect();
        drop(rows);
        Box::pin(ready(Ok(found)))
    }
}
