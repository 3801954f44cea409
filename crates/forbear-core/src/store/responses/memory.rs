use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use crate::store::StoreFuture;
use crate::work::Stamp;

use super::ResponseStore;
use super::clock::StoreClock;
use super::key::{ResponseKey, ResponseSecret};
use super::stored::{FoundResponses, KeptResponses, PurgeResponses, StoredResponse};

/// Responses in memory, for tests, and for several layers of one process. Clones share everything. It lasts as long as the last clone. Never
/// fails, and answers at once.
///
/// A layer has a memory of its own that is faster: this is no more than what every other store does, without a disk.
#[derive(Debug, Clone)]
pub struct MemoryResponses {
    secret: ResponseSecret,
    rows: Arc<Mutex<Rows>>,
}

#[derive(Debug)]
struct Rows {
    most: u64,
    bytes: u64,
    clock: StoreClock,
    under: HashMap<ResponseKey, Vec<Row>, RandomState>,
    /// What was used, the least lately first.
    used: BTreeMap<u64, (ResponseKey, u128)>,
    uses: u64,
}

#[derive(Debug)]
struct Row {
    response: StoredResponse,
    /// When it was received.
    at: Stamp,
    used: u64,
}

impl MemoryResponses {
    /// An empty one for so many bytes.
    #[must_use]
    pub fn new(most: u64) -> Self {
        let rows = Rows {
            most,
            bytes: 0,
            clock: StoreClock::default(),
            under: HashMap::default(),
            used: BTreeMap::new(),
            uses: 0,
        };
        Self { secret: ResponseSecret::random(), rows: Arc::new(Mutex::new(rows)) }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn next_use(&mut self) -> u64 {
        self.uses = self.uses.saturating_add(1);
        self.uses
    }

    fn take(&mut self, key: ResponseKey, fits: impl Fn(&Row) -> bool) -> usize {
        let Some(rows) = self.under.get_mut(&key) else { return 0 };
        let taken: Vec<_> = rows.extract_if(.., |row| fits(row)).collect();
        if rows.is_empty() {
            self.under.remove(&key);
        }
        for row in &taken {
            self.used.remove(&row.used);
            self.bytes = self.bytes.saturating_sub(row.response.bytes());
        }
        taken.len()
    }

    fn put(&mut self, response: StoredResponse, now: Stamp) {
        let (key, variant, bytes) = (response.key, response.variant, response.bytes());
        self.take(key, |row| row.response.variant == variant);
        if bytes > self.most {
            return;
        }
        while self.bytes.saturating_add(bytes) > self.most
            && let Some((_, (key, variant))) = self.used.pop_first()
        {
            self.take(key, |row| row.response.variant == variant);
        }
        let used = self.next_use();
        let at = now.before(response.age);
        self.bytes = self.bytes.saturating_add(bytes);
        self.used.insert(used, (key, variant));
        let rows = self.under.entry(key).or_default();
        // The youngest first, of equal ones the last that came.
        let before = rows.partition_point(|row| row.at > at);
        rows.insert(before, Row { response, at, used });
        if let Some(oldest) = rows.get(ResponseKey::VARIANTS).map(|row| row.response.variant) {
            self.take(key, |row| row.response.variant == oldest);
        }
    }

    fn find(&mut self, key: ResponseKey, now: Stamp) -> FoundResponses {
        let dropped = self.take(key, |row| row.at > now);
        let mut responses = Vec::new();
        for row in self.under.get_mut(&key).into_iter().flatten() {
            self.uses = self.uses.saturating_add(1);
            self.used.remove(&row.used);
            row.used = self.uses;
            self.used.insert(row.used, (key, row.response.variant));
            responses.push(StoredResponse { age: now.since(row.at), ..row.response.clone() });
        }
        FoundResponses { responses, dropped }
    }

    fn purge(&mut self, what: &PurgeResponses) -> usize {
        let keys: Vec<_> = self.under.keys().copied().collect();
        let fits = |row: &Row| match what {
            PurgeResponses::All => true,
            PurgeResponses::Host(host) => row.response.host == *host,
            PurgeResponses::Family(family) => row.response.family.as_ref() == Some(family),
        };
        keys.into_iter().map(|key| self.take(key, fits)).fold(0, usize::saturating_add)
    }

    fn kept(&self) -> KeptResponses {
        KeptResponses { responses: count(self.used.len()), bytes: self.bytes }
    }
}

impl ResponseStore for MemoryResponses {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn secret(&self) -> ResponseSecret {
        self.secret
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses> {
        let mut rows = self.rows();
        let now = rows.clock.read(now);
        answer(rows.find(key, now))
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        let mut rows = self.rows();
        let now = rows.clock.read(now);
        for response in responses {
            rows.put(response, now);
        }
        answer(())
    }

    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()> {
        let mut rows = self.rows();
        for key in keys {
            rows.take(key, |_| true);
        }
        answer(())
    }

    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64> {
        answer(count(self.rows().purge(&what)))
    }

    fn kept(&self) -> StoreFuture<'_, KeptResponses> {
        answer(self.rows().kept())
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn answer<'a, T: Send + 'a>(answer: T) -> StoreFuture<'a, T> {
    Box::pin(ready(Ok(answer)))
}
