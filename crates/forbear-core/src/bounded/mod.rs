//! What is made for keys that come from outside: at most so many, and what is in use is never dropped in silence.

#[cfg(all(test, forbear_loom))]
mod models;
mod seen;

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{RandomState, RwLock, fewer};
use crate::time::Monotonic;

use seen::Seen;

/// As many may exist; idle ones make room, and what finds none shares one.
pub(crate) const MOST: usize = fewer(10_000, 3);
/// Idle ones are looked for at most so often: a look through ten thousand holds everybody up.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Something that can be let go while it rests.
pub(crate) trait Rests {
    /// Whether nothing would be lost with it.
    fn is_idle(&self, now: Monotonic) -> bool;
    /// Whether it holds nobody up.
    fn is_open(&self) -> bool;
}

/// Things by key. A look for a key that has none takes no lock.
pub(crate) struct Bounded<K, V> {
    pub(crate) by_key: RwLock<HashMap<K, Arc<V>, RandomState>>,
    /// The keys in the map, roughly: one that is not among them needs no lock.
    seen: Seen,
    /// Idle ones are not looked for again before. Changes under the lock of the map.
    sweep_from: AtomicU64,
    overflow: Arc<V>,
    overflows: AtomicU64,
}

impl<K: Hash + Eq, V: Rests> Bounded<K, V> {
    /// None yet; `overflow` is for the keys that find no room.
    pub(crate) fn new(overflow: Arc<V>) -> Self {
        Self {
            by_key: RwLock::default(),
            seen: Seen::default(),
            sweep_from: AtomicU64::new(0),
            overflow,
            overflows: AtomicU64::new(0),
        }
    }

    /// What was made for `key`.
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        let found = self.seen.may_hold(key).then(|| self.find(key)).flatten();
        // While the shared one is closed nobody can tell who shares it: all without one do. Once it is open, a key that
        // comes again is given one of its own, if there is room by then.
        found.or_else(|| self.overflow().filter(|overflow| !overflow.is_open()))
    }

    /// What was made for `key` alone.
    pub(crate) fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        self.by_key.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// What is for `key`, made where there is none. Where there are as many as allowed, idle ones make room; one in use is
    /// never dropped: the key goes to the shared one instead, and is counted.
    pub(crate) fn make<Q: Hash + Eq + ?Sized>(
        &self,
        key: &Q,
        now: Monotonic,
        make: impl FnOnce() -> Arc<V>,
    ) -> Arc<V>
    where
        K: Borrow<Q> + for<'a> From<&'a Q>,
    {
        let mut by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = by_key.get(key) {
            return Arc::clone(known);
        }
        if by_key.len() >= MOST && now.as_nanos() >= self.sweep_from.load(Ordering::Relaxed) {
            self.sweep_from.store(now.after(SWEEP_EVERY).as_nanos(), Ordering::Relaxed);
            // One that somebody holds may be about to be used.
            by_key.retain(|_, thing| Arc::strong_count(thing) > 1 || !thing.is_idle(now));
            self.seen.hold_only(by_key.keys());
        }
        if by_key.len() >= MOST {
            self.overflows.fetch_add(1, Ordering::Relaxed);
            return Arc::clone(&self.overflow);
        }
        let made = make();
        by_key.insert(K::from(key), Arc::clone(&made));
        self.seen.hold(key);
        made
    }

    /// Takes out what was made for `key`.
    pub(crate) fn take<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        self.by_key.write().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// Those of one key each.
    pub(crate) fn own(&self) -> Vec<Arc<V>> {
        self.by_key.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Everything there is, and the shared one.
    pub(crate) fn every(&self) -> Vec<Arc<V>> {
        let mut every = self.own();
        every.push(Arc::clone(&self.overflow));
        every
    }

    /// Everything there is, the shared one only where it was needed.
    pub(crate) fn all(&self) -> Vec<Arc<V>> {
        let mut all = self.own();
        all.extend(self.overflow());
        all
    }

    /// The shared one, where it was ever needed.
    pub(crate) fn overflow(&self) -> Option<Arc<V>> {
        (self.overflows() > 0).then(|| Arc::clone(&self.overflow))
    }

    /// How often a key found no room.
    pub(crate) fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }
}

impl<K, V> fmt::Debug for Bounded<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounded").field("overflows", &self.overflows).finish_non_exhaustive()
    }
}
