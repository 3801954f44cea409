use std::time::SystemTime;

use forbear_core::time::Monotonic;

use crate::clock;

/// The wall clock, never behind the monotonic one: a clock that was set back makes no answer younger, and a suspend makes it older.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wall {
    /// One moment by both clocks.
    anchor: (SystemTime, Monotonic),
}

impl Wall {
    pub(super) fn new() -> Self {
        Self { anchor: (clock::outliving(), clock::now()) }
    }

    pub(super) fn now(&self) -> SystemTime {
        let (wall, monotonic) = self.anchor;
        let counted = wall.checked_add(clock::now().since(monotonic)).unwrap_or(wall);
        counted.max(clock::wall())
    }
}
