//! Living things by number, so that a small value can name one without holding it.

use std::sync::{Arc, PoisonError, Weak};

use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A place among the living things of one kind in this process, and a tag that no other thing of the kind ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    pub(crate) place: u32,
    pub(crate) tag: u32,
}

/// The living things of one kind. Only the cold paths look here.
pub(crate) struct Living<T>(RwLock<Places<T>>);

struct Places<T> {
    things: Vec<(u32, Weak<T>)>,
    free: Vec<u32>,
    tags: u32,
}

impl<T> Places<T> {
    const fn none() -> Self {
        Self { things: Vec::new(), free: Vec::new(), tags: 0 }
    }
}

impl<T> Living<T> {
    #[cfg(not(all(test, forbear_loom)))]
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(Places::none()))
    }

    #[cfg(all(test, forbear_loom))]
    pub(crate) fn new() -> Self {
        Self(RwLock::new(Places::none()))
    }

    fn read(&self) -> RwLockReadGuard<'_, Places<T>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Places<T>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a thing that knows its own number.
    pub(crate) fn add(&self, make: impl FnOnce(Id) -> T) -> Arc<T> {
        let mut places = self.write();
        places.tags = places.tags.wrapping_add(1);
        let tag = places.tags;
        let place =
            places.free.pop().unwrap_or_else(|| u32::try_from(places.things.len()).unwrap_or(u32::MAX));
        let thing = Arc::new(make(Id { place, tag }));
        let entry = (tag, Arc::downgrade(&thing));
        match places.things.get_mut(place as usize) {
            Some(slot) => *slot = entry,
            None => places.things.push(entry),
        }
        thing
    }

    /// Frees the place of a thing that is being dropped.
    pub(crate) fn remove(&self, id: Id) {
        let mut places = self.write();
        if let Some(slot) = places.things.get_mut(id.place as usize) {
            *slot = (0, Weak::new());
            places.free.push(id.place);
        }
    }

    /// All that live now. Held by whoever asks: where it turns out to hold the last of one, its end takes the lock.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.read().things.iter().filter_map(|(_, thing)| thing.upgrade()).collect()
    }

    /// The thing of this number, if it still lives.
    pub(crate) fn find(&self, id: Id) -> Option<Arc<T>> {
        let places = self.read();
        let (tag, thing) = places.things.get(id.place as usize)?;
        (*tag == id.tag).then(|| thing.upgrade()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_place_is_not_mistaken_for_the_one_before() {
        let living = Living::<Id>::new();
        let first = *living.add(|id| id);
        assert_eq!(living.find(first), None);
        living.remove(first);
        let second = living.add(|id| id);
        assert_eq!(second.place, first.place);
        assert_eq!(living.find(first), None);
        assert_eq!(living.find(*second), Some(second));
    }
}

#[cfg(all(test, forbear_loom))]
mod models {
    use super::*;
    use crate::sync::model;
    use loom::thread;

    /// Who looks for a thing while it goes and another takes its place finds it, or nothing.
    #[test]
    fn a_place_that_changes_hands() {
        model(|| {
            let living = Arc::new(Living::<Id>::new());
            let first = living.add(|id| id);
            let id = *first;
            let looks = {
                let living = Arc::clone(&living);
                thread::spawn(move || living.find(id))
            };
            let adds = {
                let living = Arc::clone(&living);
                thread::spawn(move || living.add(|id| id))
            };
            drop(first);
            living.remove(id);
            assert!(looks.join().unwrap().is_none_or(|found| *found == id));
            assert_ne!(adds.join().unwrap().tag, id.tag);
        });
    }
}
