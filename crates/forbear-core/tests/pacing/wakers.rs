//! Wakers are somebody else's code: whatever runs in them may come back to the pacer.

use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use forbear_core::pacing::{Pacer, Pacing, Turn};

use crate::support::{ENTRY, at, goes, millis_of, pacer, queues};

/// A task that looks at the pacer when it is woken, and when its last waker goes.
struct Looks(Arc<Pacer>);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        let _ = self.0.view(at(1));
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        let _ = self.0.view(at(1));
    }
}

fn looks(pacer: &Arc<Pacer>) -> Waker {
    Waker::from(Arc::new(Looks(Arc::clone(pacer))))
}

/// Runs `run` on a thread of its own, so that a deadlock is a failure.
#[track_caller]
fn ends(run: impl FnOnce(Arc<Pacer>) + Send + 'static) {
    let pacer = pacer(&Pacing::new().gap(millis_of(100)).in_flight(1));
    let (done, ended) = mpsc::channel();
    let _ = thread::spawn(move || {
        run(pacer);
        let _ = done.send(());
    });
    assert!(ended.recv_timeout(Duration::from_secs(5)).is_ok(), "the pacer is locked for ever");
}

#[test]
fn a_waker_that_is_replaced_may_look_at_the_pacer() {
    ends(|pacer| {
        let flies = goes(&pacer, &ENTRY, at(0));
        let mut spot = queues(&pacer, &ENTRY, at(1));
        for now in 1..4 {
            assert!(matches!(spot.turn(&looks(&pacer), at(now)), Turn::Sleep(_)));
        }
        drop(spot);
        drop(flies);
    });
}

#[test]
fn a_waker_that_is_called_may_look_at_the_pacer() {
    ends(|pacer| {
        let flies = goes(&pacer, &ENTRY, at(0));
        let mut first = queues(&pacer, &ENTRY, at(1));
        let mut second = queues(&pacer, &ENTRY, at(1));
        for spot in [&mut first, &mut second] {
            assert!(matches!(spot.turn(&looks(&pacer), at(1)), Turn::Sleep(_)));
        }
        drop(flies);
        assert!(matches!(first.turn(&looks(&pacer), at(200)), Turn::Go(_)));
        assert!(matches!(second.turn(&looks(&pacer), at(400)), Turn::Go(_)));
    });
}

#[test]
fn a_waker_of_one_that_is_refused_may_look_at_the_pacer() {
    ends(|pacer| {
        let flies = goes(&pacer, &ENTRY, at(0));
        let mut spot = queues(&pacer, &ENTRY.deadline(at(300)), at(1));
        assert!(matches!(spot.turn(&looks(&pacer), at(1)), Turn::Sleep(_)));
        assert!(matches!(spot.turn(&looks(&pacer), at(300)), Turn::Refused(_)));
        assert!(matches!(spot.turn(&looks(&pacer), at(301)), Turn::Refused(_)));
        flies.give_back(at(302));
    });
}

/// A task whose waker panics.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        std::panic::resume_unwind(Box::new("the waker panics"));
    }
}

/// Whoever called it keeps what it was given, and all others are called too.
#[test]
fn a_waker_that_panics_harms_nobody_else() {
    let pacer = pacer(&Pacing::new().in_flight(1));
    let flies = goes(&pacer, &ENTRY, at(0));
    let mut spots = [0; 3].map(|_| queues(&pacer, &ENTRY, at(1)));
    let [first, second, third] = &mut spots;
    assert!(matches!(first.turn(Waker::noop(), at(1)), Turn::Sleep(_)));
    assert!(matches!(second.turn(&Waker::from(Arc::new(Panics)), at(1)), Turn::Sleep(_)));
    assert!(matches!(third.turn(Waker::noop(), at(1)), Turn::Sleep(_)));
    drop(flies);
    let Turn::Go(booking) = first.turn(Waker::noop(), at(2)) else { panic!("it has its turn") };
    assert_eq!(pacer.view(at(2)).in_flight, Some(1));
    drop(booking);
    assert!(matches!(second.turn(Waker::noop(), at(3)), Turn::Go(_)));
    assert!(matches!(third.turn(Waker::noop(), at(3)), Turn::Go(_)));
    assert_eq!(pacer.view(at(3)).in_flight, Some(0));
}
