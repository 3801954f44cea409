//! A pacer, times, and wakers that say whether they were called.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use forbear_core::pacing::{Booking, Entered, Entry, Pacer, Pacing, PacingCause, PacingRefusal, Spot, Turn};
use forbear_core::time::Monotonic;

/// An attempt of cost 1 that nobody else is ahead of.
pub(crate) const ENTRY: Entry = Entry::new();
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn at(millis: u64) -> Monotonic {
    Monotonic::ORIGIN.after(millis_of(millis))
}

pub(crate) fn millis_of(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn pacer(pacing: &Pacing) -> Arc<Pacer> {
    Pacer::new(pacing, DAY)
}

pub(crate) fn goes(pacer: &Arc<Pacer>, entry: &Entry, now: Monotonic) -> Booking {
    match pacer.enter(entry, now) {
        Entered::Go(booking) => booking,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn queues(pacer: &Arc<Pacer>, entry: &Entry, now: Monotonic) -> Spot {
    match pacer.enter(entry, now) {
        Entered::Queued(spot) => spot,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn refused(pacer: &Arc<Pacer>, entry: &Entry, now: Monotonic) -> PacingRefusal {
    match pacer.enter(entry, now) {
        Entered::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn cause(pacer: &Arc<Pacer>, entry: &Entry, now: Monotonic) -> PacingCause {
    refused(pacer, entry, now).cause
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// One that waits, and its bell.
pub(crate) struct Waiting {
    pub(crate) spot: Spot,
    bell: Arc<Bell>,
    waker: Waker,
}

impl Waiting {
    pub(crate) fn new(pacer: &Arc<Pacer>, entry: &Entry, now: Monotonic) -> Self {
        let bell = Arc::new(Bell::default());
        Self { spot: queues(pacer, entry, now), waker: Arc::clone(&bell).into(), bell }
    }

    pub(crate) fn turn(&mut self, now: Monotonic) -> Turn {
        self.spot.turn(&self.waker, now)
    }

    pub(crate) fn sleeps(&mut self, now: Monotonic) -> Monotonic {
        match self.turn(now) {
            Turn::Sleep(until) => until,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn goes(&mut self, now: Monotonic) -> Booking {
        match self.turn(now) {
            Turn::Go(booking) => booking,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn refused(&mut self, now: Monotonic) -> PacingRefusal {
        match self.turn(now) {
            Turn::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn rings(&self) -> usize {
        self.bell.0.load(Ordering::SeqCst)
    }
}
