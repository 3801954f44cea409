use crate::time::Monotonic;

use crate::living::Id;

/// Proof that an attempt was admitted; its answer is observed with it.
///
/// A small value without a reference count, so that the happy path shares nothing between threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub(super) gate: Id,
    pub(super) epoch: u32,
    pub(super) generation: u32,
    pub(super) sent: Monotonic,
    pub(super) kind: Kind,
    /// How many attempts of this generation were counted in the same place before this one.
    pub(super) before: u32,
}

/// Epoch and generation in one number. A new epoch counts as newer, whatever its generation: another replica's clear
/// may bring a lower one.
#[inline]
pub(super) fn age(epoch: u32, generation: u32) -> u64 {
    u64::from(epoch) << 32 | u64::from(generation)
}

impl Ticket {
    #[inline]
    pub(super) fn age(&self) -> u64 {
        age(self.epoch, self.generation)
    }

    /// When the attempt was admitted.
    #[must_use]
    #[inline]
    pub const fn sent(&self) -> Monotonic {
        self.sent
    }

    /// Whether the gate was open and let it through without a lock.
    #[must_use]
    #[inline]
    pub const fn was_open(&self) -> bool {
        matches!(self.kind, Kind::Open { .. })
    }

    /// Whether this attempt is the probe of a cool-down that ended.
    #[must_use]
    pub const fn is_probe(&self) -> bool {
        matches!(self.kind, Kind::Probe(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Admitted by one atomic load and counted by the thread. `timed` where the time of its answer is sampled.
    Open { timed: bool },
    /// Admitted under the lock: while recovering, or at the moment the gate opened.
    Counted,
    /// The probe that holds the lease of this number.
    Probe(u32),
}
