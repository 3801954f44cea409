//! What bodies take that are on their way into memory, of all attempts together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A body that takes no more has its place whatever the others take: as much is in the buffers of its connection.
const SMALL: u64 = 64 * 1024;

/// Room for so many bytes.
#[derive(Debug)]
pub(super) struct Room {
    most: u64,
    taken: AtomicU64,
}

/// A part of it, which is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Room>,
    bytes: u64,
}

impl Room {
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, taken: AtomicU64::new(0) })
    }

    /// Nothing yet.
    pub(super) fn place(self: &Arc<Self>) -> Place {
        Place { room: Arc::clone(self), bytes: 0 }
    }
}

impl Place {
    /// Takes so many bytes more; false where there were none left. They are counted all the same: they are here.
    #[must_use]
    pub(super) fn takes(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        self.bytes = self.bytes.saturating_add(bytes);
        let before = self.room.taken.fetch_add(bytes, Ordering::Relaxed);
        self.bytes <= SMALL || before.saturating_add(bytes) <= self.room.most
    }

    /// Gives all of it back.
    pub(super) fn gives_back(&mut self) {
        self.room.taken.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gives_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back_once() {
        let small = usize::try_from(SMALL).unwrap();
        let room = Room::new(10 * SMALL);
        let (mut one, mut other) = (room.place(), room.place());
        assert!(one.takes(6 * small) && other.takes(4 * small) && !other.takes(1));
        let mut third = room.place();
        assert!(third.takes(small) && !third.takes(1));
        drop(third);
        one.gives_back();
        drop(one);
        assert!(other.takes(5 * small) && !other.takes(small));
        drop(other);
        assert_eq!(room.taken.load(Ordering::Relaxed), 0);
    }
}
