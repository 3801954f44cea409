//! The retry quota, what is in flight, and the queue, checked in every order of their steps.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use loom::future::block_on;
use loom::thread;

use super::retry_quota::Retries;
use super::{Booking, Entered, Entry, Pacer, Pacing, RetryQuota, Spot, Turn};
use crate::sync::model;
use crate::time::Monotonic;

const ENTRY: Entry = Entry::new();

fn at(millis: u64) -> Monotonic {
    Monotonic::ORIGIN.after(Duration::from_millis(millis))
}

fn pacer(pacing: &Pacing) -> Arc<Pacer> {
    Pacer::new(pacing, Duration::from_secs(60))
}

fn with<S: Send + Sync + 'static, T: Send + 'static>(
    shared: &Arc<S>,
    run: impl FnOnce(&Arc<S>) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let shared = Arc::clone(shared);
    thread::spawn(move || run(&shared))
}

fn goes(pacer: &Arc<Pacer>) -> Booking {
    match pacer.enter(&ENTRY, at(0)) {
        Entered::Go(booking) => booking,
        other => unreachable!("{other:?}"),
    }
}

fn queues(pacer: &Arc<Pacer>) -> Spot {
    match pacer.enter(&ENTRY, at(0)) {
        Entered::Queued(spot) => spot,
        other => unreachable!("{other:?}"),
    }
}

/// Waits without a timer: only a wake-up brings it on.
fn wait(mut spot: Spot) -> Booking {
    block_on(std::future::poll_fn(|cx| match spot.turn(cx.waker(), at(1)) {
        Turn::Go(booking) => Poll::Ready(booking),
        Turn::Sleep(_) => Poll::Pending,
        Turn::Refused(refusal) => unreachable!("{refusal:?}"),
    }))
}

/// tower-rs/tower#130, joshrotenberg/tower-resilience#411: what is taken was there, and what is earned stays.
#[test]
fn tokens_are_conserved() {
    model(|| {
        let retries = Arc::new(Retries::new(Some(RetryQuota::new(1).permille(500))));
        let other = with(&retries, |retries| {
            let taken = retries.withdraw();
            retries.deposit();
            taken
        });
        retries.deposit();
        let mine = retries.withdraw();
        let taken = u64::from(mine) + u64::from(other.join().unwrap());
        // One of the reserve, and one of both halves, if the second came in time.
        assert!((1..=2).contains(&taken));
        assert_eq!(retries.left() + taken, 2);
    });
}

/// Of two that take the last token, one has it.
#[test]
fn the_last_token_is_taken_once() {
    model(|| {
        let retries = Arc::new(Retries::new(Some(RetryQuota::new(1))));
        let other = with(&retries, |retries| retries.withdraw());
        let mine = retries.withdraw();
        assert_eq!(u8::from(mine) + u8::from(other.join().unwrap()), 1);
        retries.give_back();
        assert_eq!(retries.left(), 1);
    });
}

/// Never two where one may be in flight, and in the end none is counted.
#[test]
fn in_flight_is_exact() {
    model(|| {
        let pacer = pacer(&Pacing::new().in_flight(1));
        let enters = |pacer: &Arc<Pacer>| match pacer.enter(&ENTRY.no_queue(), at(0)) {
            Entered::Go(booking) => Some(booking),
            _ => None,
        };
        let other = with(&pacer, enters);
        let mine = enters(&pacer);
        let other = other.join().unwrap();
        assert!(mine.is_some() != other.is_some());
        drop((mine, other));
        assert_eq!(pacer.lock().in_flight.count, 0);
    });
}

/// One that looks and goes to sleep while the place in flight is freed is woken.
#[test]
fn no_wake_up_is_lost() {
    model(|| {
        let pacer = pacer(&Pacing::new().in_flight(1));
        let flies = goes(&pacer);
        let spot = queues(&pacer);
        let ends = thread::spawn(move || drop(flies));
        drop(wait(spot));
        ends.join().unwrap();
    });
}

/// The first in line goes away while the place is freed: the second has it.
#[test]
fn a_place_that_is_given_up_is_handed_on() {
    model(|| {
        let pacer = pacer(&Pacing::new().in_flight(1));
        let flies = goes(&pacer);
        let (first, second) = (queues(&pacer), queues(&pacer));
        let leaves = thread::spawn(move || drop(first));
        flies.give_back(at(0));
        drop(wait(second));
        leaves.join().unwrap();
    });
}
