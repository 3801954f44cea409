//! How far a sweep is.

/// How far a sweep is, as its callback is told after each outcome. See [`Sweep::progress`](super::Sweep::progress).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// How many items were taken so far.
    pub taken: u64,
    /// How many of them were answered.
    pub done: u64,
    /// How many are to be sent later, by whoever runs the sweep.
    pub deferred: u64,
    /// How many could not be sent, or were not answered.
    pub failed: u64,
    /// How many are on their way.
    pub in_flight: usize,
    /// How many the sweep itself holds back, to send them later, or when their family has a place.
    pub held: usize,
}
