//! What is to be written, bounded in number and bytes. Of several changes under one key only what comes of them is.

use std::collections::{HashMap, VecDeque};
use std::time::SystemTime;

use forbear_core::store::{PurgeResponses, StoredResponse};

use crate::stale::key::Key;

/// So many bytes wait at most. An answer that finds no room is lost to the store.
const BYTES: u64 = 8 * 1024 * 1024;
/// Under so many keys; where more are removed than that, everything is.
const KEYS: usize = 65_536;
/// So much goes to the store at once.
const BATCH: (usize, u64) = (64, 1024 * 1024);

/// Changes that the store does not know of.
#[derive(Debug, Default)]
pub(super) struct Queue {
    order: VecDeque<Key>,
    waiting: HashMap<Key, Change>,
    /// Those that are being written.
    writing: Vec<(Key, Change)>,
    /// Everything is to be forgotten before what waits, with what is being written.
    clears: bool,
    /// Everything is being forgotten.
    clearing: bool,
    bytes: u64,
}

/// What changed under a key.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    /// Whatever there was is gone.
    pub(super) removed: bool,
    /// And then these came, each with when it was received; the newest last.
    pub(super) puts: Vec<(StoredResponse, SystemTime)>,
}

/// What the store is to do, in this order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) clears: bool,
    pub(super) removed: Vec<Key>,
    pub(super) puts: Vec<(StoredResponse, SystemTime)>,
}

impl Change {
    fn bytes(&self) -> u64 {
        self.puts.iter().map(|(response, _)| response.bytes()).sum()
    }

    /// This one, and then `later`.
    fn then(&mut self, later: Self) {
        if later.removed {
            self.puts.clear();
        } else {
            self.puts.retain(|(old, _)| !later.puts.iter().any(|(new, _)| new.variant == old.variant));
        }
        self.removed |= later.removed;
        self.puts.extend(later.puts);
        // The store keeps no more of them either: the oldest leave.
        let most = self.puts.len().saturating_sub(Key::VARIANTS);
        drop(self.puts.drain(..most));
    }
}

impl Queue {
    /// Whether there was room. Where there was none, what it was to take the place of is removed.
    #[must_use]
    pub(super) fn put(&mut self, response: StoredResponse, at: SystemTime) -> bool {
        let (key, bytes) = (response.key, response.bytes());
        if self.bytes.saturating_add(bytes) > BYTES && self.bytes > 0 {
            self.remove(key);
            return false;
        }
        self.add(key, Change { removed: false, puts: vec![(response, at)] });
        true
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.add(key, Change { removed: true, puts: Vec::new() });
    }

    fn add(&mut self, key: Key, change: Change) {
        if self.waiting.len() >= KEYS && !self.waiting.contains_key(&key) {
            // Rather all than one that was to go.
            let (writing, clearing) = (std::mem::take(&mut self.writing), self.clearing);
            *self = Self { writing, clearing, clears: true, ..Self::default() };
        }
        let known = self.waiting.entry(key).or_insert_with(|| {
            self.order.push_back(key);
            Change::default()
        });
        self.bytes -= known.bytes();
        known.then(change);
        self.bytes += known.bytes();
    }

    /// What the store does not know of a key; `None` where it knows all.
    pub(super) fn pending(&self, key: Key) -> Option<Change> {
        // What is being written is forgotten where everything is to be.
        let writing = self.writing.iter().filter(|(of, _)| *of == key && !self.clears);
        let mut changes = writing.map(|(_, change)| change).chain(self.waiting.get(&key)).cloned();
        let clears = (self.clears || self.clearing).then(|| Change { removed: true, puts: Vec::new() });
        let mut pending = clears.or_else(|| changes.next())?;
        changes.for_each(|later| pending.then(later));
        Some(pending)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.is_writing() && !self.clears
    }

    /// Whether something is being written.
    pub(super) fn is_writing(&self) -> bool {
        !self.writing.is_empty() || self.clearing
    }

    /// What is to be written next; `None` where that is nothing.
    pub(super) fn take(&mut self) -> Option<Batch> {
        if self.is_empty() {
            return None;
        }
        let mut bytes = 0;
        while self.writing.len() < BATCH.0
            && bytes < BATCH.1
            && let Some(key) = self.order.pop_front()
        {
            if let Some(change) = self.waiting.remove(&key) {
                bytes += change.bytes();
                self.bytes -= change.bytes();
                self.writing.push((key, change));
            }
        }
        self.clearing |= std::mem::take(&mut self.clears);
        let mut batch = Batch { clears: self.clearing, ..Batch::default() };
        for (key, change) in &self.writing {
            if change.removed {
                batch.removed.push(*key);
            }
            batch.puts.extend(change.puts.iter().cloned());
        }
        Some(batch)
    }

    /// It was written.
    pub(super) fn written(&mut self) {
        self.writing.clear();
        self.clearing = false;
    }

    /// It was not: it comes again, with what changed meanwhile.
    pub(super) fn failed(&mut self) {
        let writing = std::mem::take(&mut self.writing);
        if self.clears {
            // With all that it was to change.
            self.clearing = false;
            return;
        }
        self.clears = std::mem::take(&mut self.clearing);
        for (key, mut change) in writing.into_iter().rev() {
            match self.waiting.remove(&key) {
                Some(later) => {
                    self.bytes -= later.bytes();
                    change.then(later);
                }
                None => self.order.push_front(key),
            }
            if self.bytes.saturating_add(change.bytes()) > BYTES && self.bytes > 0 {
                change = Change { removed: true, puts: Vec::new() };
            }
            self.bytes += change.bytes();
            self.waiting.insert(key, change);
        }
    }

    /// Drops what is purged.
    pub(super) fn purge(&mut self, what: &PurgeResponses) {
        let stays = |(response, _): &(StoredResponse, SystemTime)| match what {
            PurgeResponses::All => false,
            PurgeResponses::Host(host) => response.host != *host,
            PurgeResponses::Family(family) => response.family.as_ref() != Some(family),
            _ => true,
        };
        for change in self.waiting.values_mut() {
            self.bytes -= change.bytes();
            change.puts.retain(stays);
            self.bytes += change.bytes();
        }
        for (_, change) in &mut self.writing {
            change.puts.retain(stays);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use http::{HeaderMap, StatusCode};

    use super::*;

    fn key(what: u128) -> Key {
        Key { what, whose: 0 }
    }

    fn response(what: u128, variant: u128, body: usize) -> StoredResponse {
        StoredResponse {
            key: key(what),
            variant,
            host: if what < 100 { "a.example" } else { "b.example" }.into(),
            family: None,
            status: StatusCode::OK,
            fields: HeaderMap::new(),
            body: vec![0; body].into(),
            age: Duration::ZERO,
        }
    }

    fn put(queue: &mut Queue, what: u128, variant: u128, body: usize) -> bool {
        queue.put(response(what, variant, body), UNIX_EPOCH)
    }

    /// What is put, as key, variant and length; and what is removed.
    fn taken(queue: &mut Queue) -> (Vec<(u128, u128, usize)>, Vec<u128>) {
        let batch = queue.take().unwrap_or_default();
        let puts = batch.puts.iter().map(|(put, _)| (put.key.what, put.variant, put.body.len())).collect();
        (puts, batch.removed.iter().map(|key| key.what).collect())
    }

    fn pending(queue: &Queue, what: u128) -> Option<(bool, Vec<usize>)> {
        let pending = queue.pending(key(what))?;
        Some((pending.removed, pending.puts.iter().map(|(put, _)| put.body.len()).collect()))
    }

    #[test]
    fn of_several_changes_what_comes_of_them_is_written_in_order() {
        let mut queue = Queue::default();
        for (what, variant, body) in [(1, 0, 1), (2, 0, 2), (1, 7, 3), (1, 0, 4)] {
            assert!(put(&mut queue, what, variant, body));
        }
        queue.remove(key(2));
        assert!(put(&mut queue, 2, 0, 5));
        assert_eq!(pending(&queue, 1), Some((false, vec![3, 4])));
        assert_eq!(taken(&mut queue), (vec![(1, 7, 3), (1, 0, 4), (2, 0, 5)], vec![2]));
        assert_eq!(pending(&queue, 2), Some((true, vec![5])));
        queue.written();
        assert!(queue.is_empty() && queue.take().is_none() && queue.bytes == 0);
        assert_eq!(pending(&queue, 1), None);
    }

    #[test]
    fn what_was_not_written_comes_again_with_what_changed_meanwhile() {
        let mut queue = Queue::default();
        for what in 1..4 {
            assert!(put(&mut queue, what, 0, 1));
        }
        let _ = queue.take();
        assert!(put(&mut queue, 4, 0, 1) && put(&mut queue, 1, 0, 2) && put(&mut queue, 3, 7, 3));
        queue.remove(key(2));
        assert_eq!(pending(&queue, 3), Some((false, vec![1, 3])));
        assert_eq!(pending(&queue, 2), Some((true, vec![])));
        queue.failed();
        assert_eq!(pending(&queue, 3), Some((false, vec![1, 3])));
        let (puts, removed) = taken(&mut queue);
        assert_eq!((puts, removed), (vec![(4, 0, 1), (1, 0, 2), (3, 0, 1), (3, 7, 3)], vec![2]));
        queue.written();
        assert_eq!((queue.bytes, queue.waiting.len(), queue.order.len()), (0, 0, 0));
    }

    #[test]
    fn what_finds_no_room_removes_what_it_was_to_take_the_place_of() {
        let mut queue = Queue::default();
        let mut room = 0;
        while put(&mut queue, room, 0, 1_000_000) {
            room += 1;
            assert!(queue.bytes <= BYTES);
        }
        assert_eq!(room, 8);
        assert_eq!(pending(&queue, 8), Some((true, vec![])));
        // A later one of a key that waits, too.
        assert!(!put(&mut queue, 0, 0, 2_000_000));
        assert_eq!(pending(&queue, 0), Some((true, vec![])));
        assert!(put(&mut queue, 0, 0, 1_000));
        // One that is larger than all room there is has to go alone.
        let mut queue = Queue::default();
        assert!(put(&mut queue, 1, 0, 9_000_000));
        assert!(!put(&mut queue, 2, 0, 1));
        // And what comes back finds none either, where others took it.
        let _ = queue.take();
        assert!(put(&mut queue, 3, 0, 8_000_000));
        queue.failed();
        assert_eq!((pending(&queue, 1), queue.bytes <= BYTES), (Some((true, vec![])), true));
    }

    #[test]
    fn more_removals_than_can_be_remembered_remove_everything_however_the_batch_before_ends() {
        for is_written in [false, true] {
            let mut queue = Queue::default();
            assert!(put(&mut queue, 1, 0, 10));
            let _ = queue.take();
            for what in 0..=KEYS as u128 {
                queue.remove(key(1_000 + what));
            }
            assert_eq!(pending(&queue, 77), Some((true, vec![])));
            // What is being written is forgotten too.
            assert_eq!(pending(&queue, 1), Some((true, vec![])));
            assert!(put(&mut queue, 77, 0, 10));
            assert_eq!(pending(&queue, 77), Some((true, vec![10])));
            if is_written {
                queue.written();
            } else {
                queue.failed();
            }
            assert_eq!(pending(&queue, 1), Some((true, vec![])));
            for _ in 0..2 {
                let batch = queue.take().unwrap();
                assert!(
                    queue.waiting.len() <= KEYS
                        && batch.clears
                        && batch.puts.iter().all(|(put, _)| put.key == key(77))
                );
                assert_eq!(
                    (pending(&queue, 1), pending(&queue, 77)),
                    (Some((true, vec![])), Some((true, vec![10])))
                );
                queue.failed();
            }
            while queue.take().is_some() {
                queue.written();
            }
            assert_eq!((pending(&queue, 1), pending(&queue, 77)), (None, None));
        }
    }

    /// As where what selects an answer is another with each request, and the store does not answer.
    #[test]
    fn of_one_key_no_more_variants_wait_than_are_kept() {
        let mut queue = Queue::default();
        for variant in 0..1_000 {
            assert!(put(&mut queue, 1, variant, variant as usize));
            if variant % 100 == 0 {
                let _ = queue.take();
                queue.failed();
            }
        }
        let newest: Vec<_> = (1_000 - Key::VARIANTS..1_000).collect();
        assert_eq!(pending(&queue, 1), Some((false, newest)));
        assert_eq!(queue.bytes, queue.waiting[&key(1)].bytes());
    }

    #[test]
    fn what_is_purged_is_not_written() {
        let mut queue = Queue::default();
        for what in [1, 2, 101] {
            assert!(put(&mut queue, what, 0, 10));
        }
        let _ = queue.take();
        assert!(put(&mut queue, 3, 0, 10) && put(&mut queue, 103, 0, 10));
        queue.purge(&PurgeResponses::Host("a.example".into()));
        queue.failed();
        let (puts, _) = taken(&mut queue);
        assert_eq!(puts, [(101, 0, 10), (103, 0, 10)]);
        queue.purge(&PurgeResponses::All);
        queue.failed();
        assert_eq!((taken(&mut queue).0, queue.bytes), (vec![], 0));
    }
}
