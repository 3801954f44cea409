//! A store that is away, slow or broken when a test says so.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forbear::{CooldownStore, MemoryCooldowns, StoreError, StoreFault};
use forbear_core::store::{CooldownEntry, CooldownKey, Loaded, StoreFuture};
use forbear_core::work::Stamp;

/// How a store does what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    Gone,
    Hangs,
    /// Where it is asked about cool-downs that end.
    HangsOnLooks,
    Panics,
    /// Once, then it is well and empty.
    Lost,
}

#[derive(Debug, Clone)]
pub(crate) struct Scripted {
    memory: Arc<Mutex<MemoryCooldowns>>,
    script: Arc<Mutex<Script>>,
}

#[derive(Debug)]
struct Script {
    mood: Mood,
    /// So far its clock has moved since the test began, whatever the clock of the test says.
    ahead: Duration,
    /// And so far it was set back.
    back: Duration,
    saves: Vec<usize>,
    asked: usize,
}

impl Scripted {
    pub(crate) fn new() -> Self {
        let script = Script {
            mood: Mood::Well,
            ahead: Duration::ZERO,
            back: Duration::ZERO,
            saves: Vec::new(),
            asked: 0,
        };
        Self { memory: Arc::default(), script: Arc::new(Mutex::new(script)) }
    }

    pub(crate) fn is(&self, mood: Mood) {
        self.script.lock().unwrap().mood = mood;
    }

    /// So much time passes on the wall clock.
    pub(crate) fn passes(&self, time: Duration) {
        self.script.lock().unwrap().ahead += time;
    }

    /// The wall clock is set back.
    pub(crate) fn is_set_back(&self, by: Duration) {
        self.script.lock().unwrap().back += by;
    }

    /// How many rows each save had.
    pub(crate) fn saves(&self) -> Vec<usize> {
        self.script.lock().unwrap().saves.clone()
    }

    /// How often it was asked anything.
    pub(crate) fn asked(&self) -> usize {
        self.script.lock().unwrap().asked
    }

    #[expect(clippy::panic, reason = "it is what a test asks for")]
    /// What the mood makes of a question; `None` where it is to be answered.
    fn mood<'a, T: Send + 'a>(&self) -> Option<StoreFuture<'a, T>> {
        let mut script = self.script.lock().unwrap();
        script.asked += 1;
        match script.mood {
            Mood::Well | Mood::HangsOnLooks => None,
            Mood::Gone => {
                Some(Box::pin(async { Err(error(StoreFault::Unavailable, "the disk is on fire")) }))
            }
            Mood::Hangs => Some(Box::pin(pending())),
            Mood::Panics => {
                drop(script);
                panic!("a store")
            }
            Mood::Lost => {
                script.mood = Mood::Well;
                *self.memory.lock().unwrap() = MemoryCooldowns::new();
                Some(Box::pin(async { Err(error(StoreFault::Lost, "its file was removed")) }))
            }
        }
    }

    fn memory(&self) -> MemoryCooldowns {
        self.memory.lock().unwrap().clone()
    }

    fn at(&self, now: Stamp) -> Stamp {
        let script = self.script.lock().unwrap();
        now.after(script.ahead).before(script.back)
    }
}

impl CooldownStore for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn load(&self, now: Stamp) -> StoreFuture<'_, Loaded> {
        let (memory, now) = (self.memory(), self.at(now));
        self.mood().unwrap_or_else(|| Box::pin(async move { memory.load(now).await }))
    }

    fn save(&self, entries: Vec<CooldownEntry>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        let (memory, now, rows) = (self.memory(), self.at(now), entries.len());
        self.mood().unwrap_or_else(|| {
            self.script.lock().unwrap().saves.push(rows);
            Box::pin(async move { memory.save(entries, now).await })
        })
    }

    fn look_up(&self, keys: Vec<CooldownKey>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        let (memory, now) = (self.memory(), self.at(now));
        if self.script.lock().unwrap().mood == Mood::HangsOnLooks {
            return Box::pin(pending());
        }
        self.mood().unwrap_or_else(|| Box::pin(async move { memory.look_up(keys, now).await }))
    }
}

fn error(fault: StoreFault, why: &'static str) -> StoreError {
    StoreError::new(fault, "keep cool-downs").because(why)
}
