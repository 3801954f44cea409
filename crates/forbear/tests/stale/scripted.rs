//! A store that does as it is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forbear_core::store::{
    FoundResponses, KeptResponses, MemoryResponses, PurgeResponses, ResponseKey, ResponseSecret,
    ResponseStore, StoreError, StoreFault, StoreFuture, StoredResponse,
};
use forbear_core::work::Stamp;

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Everything takes so long.
    Slow(Duration),
    Fails,
    Hangs,
    Panics,
    /// It panics before it answers with a future.
    PanicsAtOnce,
    /// It reads, and cannot write.
    Full,
}

/// A store in memory, with a mood. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Scripted {
    store: MemoryResponses,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    mood: Mutex<Mood>,
    finds: AtomicUsize,
    puts: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new() -> Self {
        let mood = Mutex::new(Mood::Well);
        let shared = Shared { mood, finds: AtomicUsize::new(0), puts: AtomicUsize::new(0) };
        Self { store: MemoryResponses::new(64 << 20), shared: Arc::new(shared) }
    }

    pub(crate) fn is(&self, mood: Mood) {
        *self.shared.mood.lock().unwrap() = mood;
    }

    /// How often it was looked into.
    pub(crate) fn finds(&self) -> usize {
        self.shared.finds.load(Ordering::SeqCst)
    }

    /// How many calls put something.
    pub(crate) fn puts(&self) -> usize {
        self.shared.puts.load(Ordering::SeqCst)
    }

    /// How many hold it.
    pub(crate) fn holders(&self) -> usize {
        Arc::strong_count(&self.shared)
    }

    pub(crate) async fn kept(&self) -> u64 {
        self.store.kept().await.unwrap().responses
    }

    fn answer<'a, T: Send + 'a>(&self, reads: bool, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        let mood = *self.shared.mood.lock().unwrap();
        assert!(mood != Mood::PanicsAtOnce, "the store panics");
        Box::pin(async move {
            match mood {
                Mood::Well => {}
                Mood::Full if reads => {}
                Mood::Slow(span) => tokio::time::sleep(span).await,
                Mood::Fails | Mood::Full => return Err(StoreError::new(StoreFault::Full, "do anything")),
                Mood::Hangs => std::future::pending().await,
                Mood::Panics | Mood::PanicsAtOnce => unreachable!("the store panics"),
            }
            answer.await
        })
    }
}

/// What the store in memory does, when it is done.
macro_rules! later {
    ($self:ident.$call:ident($($argument:ident),*)) => {{
        let store = $self.store.clone();
        Box::pin(async move { store.$call($($argument),*).await })
    }};
}

impl ResponseStore for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn secret(&self) -> ResponseSecret {
        self.store.secret()
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses> {
        self.shared.finds.fetch_add(1, Ordering::SeqCst);
        self.answer(true, later!(self.find(key, now)))
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        self.shared.puts.fetch_add(1, Ordering::SeqCst);
        self.answer(false, later!(self.put(responses, now)))
    }

    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()> {
        self.answer(false, later!(self.remove(keys)))
    }

    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64> {
        self.answer(false, later!(self.purge(what)))
    }

    fn kept(&self) -> StoreFuture<'_, KeptResponses> {
        self.answer(true, later!(self.kept()))
    }
}
