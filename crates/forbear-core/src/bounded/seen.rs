use std::hash::{BuildHasher, Hash};

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{RandomState, fewer};

/// 65,536 bits: ten thousand keys send one in seven others to the map for nothing.
const WORDS: usize = fewer(1024, 1);

/// A set of keys that may say that it holds one which it does not, never the other way round; asked without a lock.
#[derive(Debug)]
pub(super) struct Seen {
    words: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Seen {
    fn default() -> Self {
        Self { words: (0..WORDS).map(|_| AtomicU64::new(0)).collect(), hasher: RandomState::default() }
    }
}

impl Seen {
    /// Whether `key` may be held; false is certain.
    pub(super) fn may_hold(&self, key: &(impl Hash + ?Sized)) -> bool {
        let (at, bit) = self.place(key);
        self.words.get(at).is_some_and(|word| word.load(Ordering::Acquire) & bit != 0)
    }

    pub(super) fn hold(&self, key: &(impl Hash + ?Sized)) {
        let (at, bit) = self.place(key);
        if let Some(word) = self.words.get(at) {
            word.fetch_or(bit, Ordering::Release);
        }
    }

    /// Forgets all but `keys`, which are held all the while. Nothing else may be added meanwhile.
    pub(super) fn hold_only<'k, K: Hash + 'k>(&self, keys: impl Iterator<Item = &'k K>) {
        let mut kept = vec![0_u64; WORDS];
        for key in keys {
            let (at, bit) = self.place(key);
            if let Some(word) = kept.get_mut(at) {
                *word |= bit;
            }
        }
        for (word, kept) in self.words.iter().zip(kept) {
            word.store(kept, Ordering::Release);
        }
    }

    /// The word and the bit of a key.
    fn place(&self, key: &(impl Hash + ?Sized)) -> (usize, u64) {
        let hash = self.hasher.hash_one(key);
        let at = usize::try_from(hash >> 32).unwrap_or_default() & WORDS.saturating_sub(1);
        (at, 1 << (hash & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_never_denied() {
        let seen = Seen::default();
        let hosts: Vec<Box<str>> = (0..1000).map(|host| format!("h{host}.example").into()).collect();
        for host in &hosts {
            seen.hold(host);
        }
        assert!(hosts.iter().all(|host| seen.may_hold(host)));
        seen.hold_only(hosts.iter().take(10));
        assert!(hosts.iter().take(10).all(|host| seen.may_hold(host)));
        assert!(hosts.iter().skip(10).filter(|host| seen.may_hold(host)).count() < 100);
    }
}
