//! What the vendor says is left, and that too much is in flight.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::pacing::{Booking, Entered, Left, Pacer, Pacing, Unit};
use forbear_core::time::Monotonic;
use proptest::prelude::*;

use crate::support::{DAY, ENTRY, Waiting, at, goes, millis_of, pacer};

fn left(remaining: u64, reset: Duration) -> Left {
    Left { remaining, reset, unit: Unit::Attempts }
}

fn steered() -> Arc<Pacer> {
    pacer(&Pacing::new().steered(true))
}

/// Sends whatever may be sent, looking each millisecond.
fn sent(pacer: &Arc<Pacer>, cost: u32, from: u64, to: u64) -> Vec<u64> {
    (from..to)
        .filter(|now| matches!(pacer.enter(&ENTRY.cost(cost).no_queue(), at(*now)), Entered::Go(_)))
        .collect()
}

#[test]
fn what_is_left_is_spread_over_the_time_until_there_is_more() {
    let pacer = steered();
    let first = goes(&pacer, &ENTRY, at(0));
    pacer.steer(&[left(4, millis_of(1000))], first.at(), at(100));
    drop(first);
    assert_eq!(pacer.view(at(100)).steered_for, Some(millis_of(1000)));
    assert_eq!(sent(&pacer, 1, 100, 1100), [250, 500, 750, 1000]);
    assert!(sent(&pacer, 1, 1100, 1200).len() > 90, "no longer steered");
    assert_eq!(pacer.view(at(1200)).steered_for, None);
}

/// Of attempts that went at one moment the answer that came last holds.
#[test]
fn the_last_word_about_one_moment_holds() {
    let pacer = steered();
    drop((goes(&pacer, &ENTRY, at(0)), goes(&pacer, &ENTRY, at(0))));
    pacer.steer(&[left(10, millis_of(1000))], at(0), at(1));
    // The other may not be in it: two are left for sure.
    pacer.steer(&[left(3, millis_of(1000))], at(0), at(2));
    assert_eq!(sent(&pacer, 1, 100, 1000), [500]);
}

#[test]
fn tokens_are_spread_by_cost() {
    let pacer = steered();
    let first = goes(&pacer, &ENTRY.cost(10), at(0));
    let tokens = Left { remaining: 100, reset: millis_of(1000), unit: Unit::Cost };
    pacer.steer(&[left(50, millis_of(1000)), tokens], first.at(), at(0));
    drop(first);
    assert_eq!(sent(&pacer, 25, 0, 1000), [100, 350, 600, 850]);
}

#[test]
fn it_is_never_faster_than_configured() {
    let pacer = pacer(&Pacing::new().gap(millis_of(100)).steered(true));
    drop(goes(&pacer, &ENTRY, at(0)));
    pacer.steer(&[left(1_000_000, millis_of(1000))], at(0), at(1));
    assert_eq!(sent(&pacer, 1, 0, 500), [100, 200, 300, 400]);
}

#[test]
fn nothing_left_closes_until_the_reset_and_tells_who_cannot_wait() {
    let pacer = pacer(&Pacing::new().gap(millis_of(10)).steered(true));
    drop(goes(&pacer, &ENTRY, at(0)));
    let mut patient = Waiting::new(&pacer, &ENTRY, at(1));
    let mut hasty = Waiting::new(&pacer, &ENTRY.deadline(at(5_000)), at(1));
    let _ = (patient.sleeps(at(1)), hasty.sleeps(at(1)));
    pacer.steer(&[left(0, Duration::from_secs(60))], at(0), at(2));
    assert_eq!((patient.rings(), hasty.rings()), (1, 1));
    assert_eq!(hasty.refused(at(3)).retry_at, Some(at(60_002)));
    assert_eq!(patient.sleeps(at(3)), at(60_002));
    drop(patient.goes(at(60_002)));
}

/// A thousand answers that say the same do not wake ten thousand callers a thousand times.
#[test]
fn who_was_told_that_nothing_is_left_is_not_told_again() {
    let pacer = pacer(&Pacing::new().gap(millis_of(10)).steered(true));
    drop(goes(&pacer, &ENTRY, at(0)));
    let mut waiting = [(); 3].map(|()| Waiting::new(&pacer, &ENTRY, at(1)));
    for (now, rings) in [(2, [1, 1, 1]), (4, [2, 1, 1]), (6, [3, 1, 1])] {
        for one in &mut waiting {
            assert!(one.sleeps(at(now - 1)) > at(now));
        }
        pacer.steer(&[left(0, Duration::from_secs(60))], at(0), at(now));
        assert_eq!([0, 1, 2].map(|place: usize| waiting[place].rings()), rings);
    }
}

/// A hostile reset, years ahead, holds for as long as a cool-down might.
#[test]
fn a_reset_in_years_is_bounded() {
    for reset in [Duration::MAX, DAY * 3_650] {
        let pacer = steered();
        pacer.steer(&[left(0, reset)], at(0), at(0));
        assert!(matches!(
            pacer.enter(&ENTRY.no_queue(), Monotonic::ORIGIN.after(DAY).before(millis_of(1))),
            Entered::Refused(_)
        ));
        drop(goes(&pacer, &ENTRY, Monotonic::ORIGIN.after(DAY)));
    }
}

/// Answers overtake each other: the word of the attempt that was sent last counts.
#[test]
fn an_older_answer_does_not_overrule_a_newer_one() {
    let pacer = steered();
    pacer.steer(&[left(0, millis_of(1000))], at(50), at(60));
    pacer.steer(&[left(100, millis_of(1000))], at(10), at(70));
    assert_eq!(
        sent(&pacer, 1, 70, 1_070),
        [1_060, 1_061, 1_062, 1_063, 1_064, 1_065, 1_066, 1_067, 1_068, 1_069]
    );
}

/// Those that went after the one that was answered may not be counted in it yet; those that went before it are, however long
/// their bodies take.
#[test]
fn what_went_since_is_taken_off() {
    let pacer = steered();
    let flies: Vec<Booking> = (0..8).map(|now| goes(&pacer, &ENTRY.cost(10), at(now))).collect();
    pacer.steer(&[left(5, millis_of(1000))], at(4), at(10));
    assert_eq!(sent(&pacer, 1, 10, 1_010), [507, 1007]);
    drop(flies);
    let flies: Vec<Booking> = (0..3).map(|now| goes(&pacer, &ENTRY.cost(10), at(2_000 + now))).collect();
    let tokens = Left { remaining: 30, reset: millis_of(1000), unit: Unit::Cost };
    pacer.steer(&[tokens], at(2_000), at(2_010));
    // Ten of thirty are left for a second: one for each tenth.
    assert_eq!(sent(&pacer, 5, 2_010, 3_010), [3_002]);
    drop(flies);
}

#[test]
fn what_was_given_back_is_not_taken_off() {
    let pacer = steered();
    let first = goes(&pacer, &ENTRY, at(0));
    goes(&pacer, &ENTRY, at(1)).give_back(at(2));
    pacer.steer(&[left(2, millis_of(1000))], first.at(), at(10));
    assert_eq!(sent(&pacer, 1, 10, 1_010), [500, 1000]);
}

#[test]
fn one_that_is_not_steered_takes_no_notice() {
    let pacer = pacer(&Pacing::new().gap(millis_of(1)).retry_quota(forbear_core::pacing::RetryQuota::new(1)));
    pacer.steer(&[left(0, millis_of(1000))], at(0), at(0));
    assert!(!pacer.lower(at(0), at(0)));
    drop(goes(&pacer, &ENTRY, at(1)));
    assert_eq!(pacer.view(at(1)).totals.steered, 0);
}

fn in_flight(pacer: &Arc<Pacer>, now: u64) -> Vec<Booking> {
    let next = || match pacer.enter(&ENTRY.no_queue(), at(now)) {
        Entered::Go(booking) => Some(booking),
        _ => None,
    };
    std::iter::from_fn(next).take(100).collect()
}

#[test]
fn too_much_in_flight_is_halved_once_a_round_and_grows_back() {
    let pacer = pacer(&Pacing::new().in_flight(16).steered(true));
    let flies = in_flight(&pacer, 0);
    assert_eq!(flies.len(), 16);
    assert!(pacer.lower(at(0), at(10)) && pacer.lower(at(0), at(11)), "one round");
    assert_eq!(pacer.view(at(11)).in_flight_limit, Some(8));
    drop(flies);
    assert_eq!(in_flight(&pacer, 20).len(), 8);
    // Eight good answers for one more, nine for the next.
    (0..8).for_each(|_| pacer.good());
    assert_eq!(in_flight(&pacer, 21).len(), 9);
    (0..9).for_each(|_| pacer.good());
    assert_eq!(in_flight(&pacer, 21).len(), 10);
    (0..1000).for_each(|_| pacer.good());
    assert_eq!((in_flight(&pacer, 22).len(), pacer.view(at(22)).lowered), (16, false));
}

#[test]
fn where_one_is_left_in_flight_it_is_a_signal_as_any_other() {
    let pacer = pacer(&Pacing::new().in_flight(2).steered(true));
    let flies = in_flight(&pacer, 0);
    assert!(pacer.lower(at(0), at(10)));
    drop(flies);
    assert_eq!(in_flight(&pacer, 20).len(), 1);
    assert!(pacer.lower(at(5), at(20)), "of the round before");
    assert!(!pacer.lower(at(20), at(21)));
}

#[test]
fn a_limit_that_nobody_configured_is_forgotten_at_twice_what_was_too_much() {
    let pacer = steered();
    let flies: Vec<Booking> = (0..8).map(|_| goes(&pacer, &ENTRY, at(0))).collect();
    assert!(pacer.lower(at(0), at(10)));
    drop(flies);
    assert_eq!(in_flight(&pacer, 20).len(), 4);
    (0..(4..16).sum()).for_each(|_| pacer.good());
    assert_eq!((in_flight(&pacer, 30).len(), pacer.view(at(30)).in_flight_limit), (100, None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever is told, no more than that goes until the reset.
    #[test]
    fn never_more_than_what_is_left(remaining in 0..50_u64, reset in 1..3_000_u64, from in 0..500_u64) {
        let pacer = pacer(&Pacing::new().at_most(1000, millis_of(1)).steered(true));
        drop(goes(&pacer, &ENTRY, at(from)));
        pacer.steer(&[left(remaining, millis_of(reset))], at(from), at(from + 3));
        let sent = sent(&pacer, 1, from + 3, from + 3 + reset).len() as u64;
        prop_assert!(sent <= remaining, "{} of {}", sent, remaining);
        // It looks once in a millisecond.
        let spread = reset.checked_div(remaining).map_or(0, |each| reset / (each + 1));
        prop_assert!(sent + 1 >= spread, "{} of {}", sent, remaining);
    }
}
