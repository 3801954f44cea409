//! Who goes first.

use forbear_core::gate::Priority;
use forbear_core::pacing::{Booking, Caller, Entry, Pacer, Pacing, Turn};
use forbear_core::time::Monotonic;
use std::sync::Arc;

use crate::support::{ENTRY, Waiting, at, goes, millis_of, pacer};

const BACKGROUND: Entry = Entry::new().priority(Priority::Background);

/// A pacer whose gap of a second has just begun.
fn busy() -> Arc<Pacer> {
    let pacer = pacer(&Pacing::new().gap(millis_of(1000)));
    drop(goes(&pacer, &ENTRY, at(0)));
    pacer
}

/// All that wait, in the order in which they go; each is asked at each turn.
fn served(waiting: Vec<(&'static str, Waiting)>, from: u64) -> Vec<&'static str> {
    let mut waiting: Vec<_> = waiting.into_iter().map(Some).collect();
    let mut order = Vec::new();
    for turn in 0..waiting.len() as u64 {
        let now = at(from + 1000 * turn);
        for place in &mut waiting {
            if let Some((name, mut one)) = place.take() {
                match one.turn(now) {
                    Turn::Go(booking) => {
                        drop::<Booking>(booking);
                        order.push(name);
                    }
                    Turn::Sleep(_) => *place = Some((name, one)),
                    Turn::Refused(refusal) => panic!("{refusal:?}"),
                }
            }
        }
        assert_eq!(order.len() as u64, turn + 1, "one a second");
    }
    order
}

fn all(pacer: &Arc<Pacer>, entries: &[(&'static str, Entry)]) -> Vec<(&'static str, Waiting)> {
    entries.iter().map(|(name, entry)| (*name, Waiting::new(pacer, entry, at(1)))).collect()
}

#[test]
fn one_caller_is_served_first_come_first_served() {
    let pacer = busy();
    let entries = ["a", "b", "c", "d"].map(|name| (name, ENTRY));
    assert_eq!(served(all(&pacer, &entries), 1000), ["a", "b", "c", "d"]);
}

#[test]
fn interactive_goes_before_background() {
    let pacer = busy();
    let waiting = all(&pacer, &[("b1", BACKGROUND), ("i1", ENTRY), ("b2", BACKGROUND), ("i2", ENTRY)]);
    assert_eq!(served(waiting, 1000), ["i1", "i2", "b1", "b2"]);
}

#[test]
fn one_in_ten_is_background_while_some_wait() {
    let pacer = busy();
    let mut entries = vec![("b", BACKGROUND); 3];
    entries.extend(vec![("i", ENTRY); 27]);
    let order = served(all(&pacer, &entries), 1000);
    for (at, ten) in order.chunks(10).enumerate() {
        assert_eq!(ten.iter().filter(|name| **name == "b").count(), 1, "in ten number {at}: {order:?}");
    }
}

#[test]
fn no_share_is_no_turn_before_the_last_interactive_one() {
    let pacer = pacer(&Pacing::new().gap(millis_of(1000)).background_share(0));
    drop(goes(&pacer, &ENTRY, at(0)));
    let mut entries = vec![("b", BACKGROUND)];
    entries.extend(vec![("i", ENTRY); 20]);
    assert_eq!(served(all(&pacer, &entries), 1000).last(), Some(&"b"));
}

#[test]
fn callers_that_name_themselves_take_turns() {
    let pacer = busy();
    let (a, b) = (ENTRY.caller(Caller::of("a")), ENTRY.caller(Caller::of("b")));
    let waiting =
        all(&pacer, &[("a", a), ("a", a), ("a", a), ("b", b), ("-", ENTRY), ("-", ENTRY), ("b", b)]);
    assert_eq!(served(waiting, 1000), ["a", "b", "-", "a", "-", "b", "a"]);
}

/// A turn is as large as what it costs.
#[test]
fn turns_are_by_cost() {
    let pacer = busy();
    let (a, b) = (ENTRY.caller(Caller::of("a")).cost(3), ENTRY.caller(Caller::of("b")));
    let mut entries = vec![("a", a); 3];
    entries.extend(vec![("b", b); 6]);
    assert_eq!(served(all(&pacer, &entries), 1000), ["a", "b", "b", "b", "a", "b", "b", "b", "a"]);
}

/// Who was served ahead of the others waits until they have caught up, also where it had nothing to send meanwhile.
#[test]
fn who_comes_back_ahead_of_the_others_is_not_new() {
    let pacer = busy();
    let (a, b) = (ENTRY.caller(Caller::of("a")).cost(3), ENTRY.caller(Caller::of("b")));
    let mut first = all(&pacer, &[("a", a)]);
    let mut waiting = all(&pacer, &[("b", b); 3]);
    let (_, mut a_first) = first.remove(0);
    drop(a_first.goes(at(1000)));
    waiting.push(("a", Waiting::new(&pacer, &a, at(1001))));
    assert_eq!(served(waiting, 2000), ["b", "b", "b", "a"]);
}

/// Callers with a name of their own each, without end, do not keep an old one waiting.
#[test]
fn new_callers_do_not_starve_an_old_one() {
    let pacer = busy();
    let old = ENTRY.caller(Caller::of("old"));
    let mut waiting: Vec<(u64, Waiting)> = (0..3).map(|_| (0, Waiting::new(&pacer, &old, at(1)))).collect();
    let mut served_old = 0;
    for second in 1..=20_u64 {
        for extra in 0..2 {
            let new = ENTRY.caller(Caller::of((second * 2 + extra).to_le_bytes()));
            waiting.push((second, Waiting::new(&pacer, &new, at(1000 * second - 1))));
        }
        let goes = |(_, one): &mut (u64, Waiting)| matches!(one.turn(at(1000 * second)), Turn::Go(_));
        let went = waiting.iter_mut().position(goes).expect("one a second");
        served_old += u32::from(waiting.remove(went).0 == 0);
    }
    assert_eq!(served_old, 3);
}

/// What one leaves unserved, by its own will, is not held against its caller.
#[test]
fn who_leaves_has_used_no_turn() {
    let pacer = busy();
    let (a, b) = (ENTRY.caller(Caller::of("a")), ENTRY.caller(Caller::of("b")));
    let left = all(&pacer, &[("a", a); 5]);
    let waiting = all(&pacer, &[("b", b), ("a", a), ("b", b)]);
    drop(left);
    assert_eq!(served(waiting, 1000), ["b", "a", "b"]);
}

#[test]
fn who_leaves_wakes_the_next() {
    let pacer = busy();
    let (mut first, mut second) = (Waiting::new(&pacer, &ENTRY, at(1)), Waiting::new(&pacer, &ENTRY, at(1)));
    assert_eq!(first.sleeps(at(1)), at(1000));
    assert_eq!(second.sleeps(at(1)), at(1001), "it looks whether the first still reacts");
    drop(first);
    assert_eq!(second.rings(), 1);
    assert_eq!(second.sleeps(at(2)), at(1000));
    drop(second.goes(at(1000)));
}

/// Its future is held, and not polled: it was woken, or its time came, and nothing happened for a second.
#[test]
fn who_does_not_react_is_passed_over_and_comes_back() {
    let pacer = busy();
    let (mut dead, mut next) = (Waiting::new(&pacer, &ENTRY, at(1)), Waiting::new(&pacer, &ENTRY, at(1)));
    let mut third = Waiting::new(&pacer, &ENTRY, at(1));
    let _ = (dead.sleeps(at(1)), next.sleeps(at(1)), third.sleeps(at(1)));
    assert!(matches!(next.turn(at(1_999)), Turn::Sleep(_)), "not before a second has passed");
    drop(next.goes(at(2_000)));
    assert_eq!(third.rings(), 1);
    assert_eq!(dead.sleeps(at(2_500)), at(3_000), "it leads again");
    assert!(matches!(third.turn(at(2_600)), Turn::Sleep(_)));
    drop(dead.goes(at(3_000)));
}

/// Nor does one that never looked keep out who does not wait at all.
#[test]
fn who_never_looks_is_passed_over_by_newcomers() {
    let pacer = busy();
    let dead = Waiting::new(&pacer, &ENTRY, at(1));
    let newcomer = |now: Monotonic| pacer.enter(&ENTRY.no_queue(), now);
    assert!(matches!(newcomer(at(1_500)), forbear_core::pacing::Entered::Refused(_)));
    assert!(matches!(newcomer(at(2_500)), forbear_core::pacing::Entered::Go(_)));
    drop(dead);
}

/// A permit that comes back goes to the one that has waited longest.
#[test]
fn the_end_of_an_attempt_lets_the_next_go() {
    let pacer = pacer(&Pacing::new().in_flight(1));
    let flies = goes(&pacer, &ENTRY, at(0));
    let (mut first, mut second) = (Waiting::new(&pacer, &ENTRY, at(1)), Waiting::new(&pacer, &ENTRY, at(1)));
    assert_eq!(first.sleeps(at(1)), Monotonic::NEVER, "nobody knows when");
    assert_eq!(second.sleeps(at(1)), at(1001), "it looks whether the first still reacts");
    drop(flies);
    assert_eq!((first.rings(), second.rings()), (1, 0));
    let flies = first.goes(at(5));
    assert_eq!(second.rings(), 0, "it leads now, and could not go");
    flies.give_back(at(6));
    assert_eq!(second.rings(), 1);
    drop(second.goes(at(7)));
    assert_eq!(pacer.view(at(8)).in_flight, Some(0));
}
