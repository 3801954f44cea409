//! The gate's word, its threads' counts and its queue, checked in every order of their steps.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::StatusCode;
use loom::future::block_on;
use loom::thread;

use super::engine::Gate;
use super::place::{Place, Turn};
use super::shard::{Served, Shard};
use super::{Ask, Decision, GateSettings, Operator, Outcome};
use crate::signal::{Class, Signal};
use crate::sync::model;
use crate::time::Monotonic;

fn at(millis: u64) -> Monotonic {
    Monotonic::ORIGIN.after(Duration::from_millis(millis))
}

fn gate() -> Arc<Gate> {
    Gate::new("vendor", Arc::new(GateSettings::registered()))
}

fn operator() -> Operator {
    Operator::new("operator", "")
}

/// Closes the gate at the origin, for a second.
fn strike(gate: &Gate) {
    let signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(1));
    let _ = gate.observe(&gate.foreign(at(0)), Outcome::Bad(&signal, "/"), at(0));
}

fn with<T: Send + 'static>(
    gate: &Arc<Gate>,
    run: impl FnOnce(&Arc<Gate>) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let gate = Arc::clone(gate);
    thread::spawn(move || run(&gate))
}

/// What the happy path reads is what the state came to, whoever changed it last.
#[test]
fn the_word_says_what_the_state_says() {
    model(|| {
        let gate = gate();
        let pauses = with(&gate, |gate| drop(gate.pause(operator(), at(1))));
        let resumes = with(&gate, |gate| drop(gate.resume(operator(), at(1))));
        pauses.join().unwrap();
        resumes.join().unwrap();
        let paused = gate.lock().pause.is_on();
        assert_eq!(gate.is_open(), !paused);
    });
}

/// An attempt that an open gate let through is of the generation that the next strike ends.
#[test]
fn a_ticket_and_a_strike() {
    model(|| {
        let gate = gate();
        let asks = with(&gate, |gate| gate.admit_open(at(0)));
        strike(&gate);
        let ticket = asks.join().unwrap();
        assert!(ticket.is_none_or(|ticket| ticket.generation == 0));
        assert!(gate.admit_open(at(0)).is_none());
    });
}

/// A thread takes over the counts of one that ended.
#[test]
fn no_count_is_lost_when_a_thread_ends() {
    model(|| {
        let gate = gate();
        let counts = |gate: &Arc<Gate>| assert!(gate.admit_open(at(0)).is_some());
        let threads = [with(&gate, counts), with(&gate, counts)];
        for thread in threads {
            thread.join().unwrap();
        }
        let served = gate.served(0, at(0));
        assert_eq!((served.sent, served.total), (2, 2));
    });
}

/// What one thread counts, seen by another: of this generation alone, and never less than it was.
#[test]
fn counts_are_of_their_generation() {
    model(|| {
        let shard = Arc::new(Shard::default());
        let looks = another(&shard, |shard| {
            let mut total = 0;
            for _ in 0..2 {
                let mut served = Served::default();
                shard.add_to(&mut served, 2, at(500));
                assert!(served.sent <= 1, "of the generation before: {served:?}");
                assert!(
                    served.first.is_none_or(|first| first == at(500)),
                    "of the generation before: {served:?}"
                );
                assert!((total..=3).contains(&served.total), "{total} before: {served:?}");
                total = served.total;
            }
        });
        let _ = (shard.sent(1, at(1)), shard.sent(1, at(2)), shard.sent(2, at(500)));
        looks.join().unwrap();
        let mut served = Served::default();
        shard.add_to(&mut served, 2, at(500));
        assert_eq!((served.sent, served.total, served.first), (1, 3, Some(at(500))));
    });
}

/// A time that is taken over is one that was measured.
#[test]
fn times_are_taken_over_as_they_were_measured() {
    model(|| {
        let shard = Arc::new(Shard::default());
        let took = |(mean, _, samples): (Duration, Duration, u32)| {
            assert!(samples <= 2);
            assert!(samples == 0 || mean == Duration::from_millis(100), "{mean:?} of {samples}");
        };
        let takes = another(&shard, move |shard| took(shard.take_times()));
        for _ in 0..2 {
            shard.answered_in(Duration::from_millis(100));
        }
        takes.join().unwrap();
        took(shard.take_times());
    });
}

/// Another thread than the owner of `shard`. It is the one that is spawned: loom misses orders in which a load of the
/// first thread comes before a load and a store of a spawned one.
fn another(shard: &Arc<Shard>, run: impl FnOnce(&Shard) + Send + 'static) -> thread::JoinHandle<()> {
    let shard = Arc::clone(shard);
    thread::spawn(move || run(&shard))
}

/// Waits for `place` without a timer: only a wake-up brings it on.
fn wait(place: &mut Place, now: Monotonic) -> Turn {
    block_on(std::future::poll_fn(|cx| match place.turn(cx.waker(), now).0 {
        Turn::Sleep(_) => Poll::Pending,
        other => Poll::Ready(other),
    }))
}

fn place(gate: &Arc<Gate>, now: Monotonic) -> Place {
    match gate.place(&Ask::new(now), (now, 0.0), None, now).0 {
        Ok(place) => place,
        Err(refusal) => unreachable!("{refusal:?}"),
    }
}

/// A caller that looks and goes to sleep while the gate is cleared is woken.
#[test]
fn no_wake_up_is_lost() {
    model(|| {
        let gate = gate();
        strike(&gate);
        let mut mine = place(&gate, at(10));
        let clears = with(&gate, |gate| drop(gate.clear(operator(), at(20))));
        assert!(matches!(wait(&mut mine, at(20)), Turn::Ask(_)));
        clears.join().unwrap();
    });
}

/// The first in line has the right to probe, and goes away: the second, who sleeps or is about to, gets it.
#[test]
fn a_right_that_is_not_used_is_handed_on() {
    model(|| {
        let gate = gate();
        strike(&gate);
        let mut first = place(&gate, at(1_000));
        let Turn::Ask(Some(grant)) = wait(&mut first, at(1_000)) else { panic!("the probe is due") };
        let mut second = place(&gate, at(1_001));
        let leaves = thread::spawn(move || drop(grant));
        assert!(matches!(wait(&mut second, at(1_001)), Turn::Ask(Some(_))));
        leaves.join().unwrap();
    });
}

/// Of two that ask when a probe is due, one is let through.
#[test]
fn one_probe() {
    model(|| {
        let gate = gate();
        strike(&gate);
        let asks =
            |gate: &Arc<Gate>| matches!(gate.admit(&Ask::new(at(1_000)), at(1_000)).0, Decision::Go(_));
        let other = with(&gate, asks);
        let mine = asks(&gate);
        assert_eq!(u8::from(mine) + u8::from(other.join().unwrap()), 1);
    });
}
