//! Who does not wait, and who cannot.

use std::sync::Arc;

use forbear_core::gate::Priority;
use forbear_core::pacing::{Booking, Caller, Entered, Pacer, Pacing, PacingCause, Spot, Turn};
use forbear_core::time::Monotonic;
use proptest::prelude::*;

use crate::support::{ENTRY, Waiting, at, cause, goes, millis_of, pacer, queues, refused};

fn window() -> Arc<Pacer> {
    pacer(&Pacing::new().at_most(2, millis_of(1000)))
}

#[test]
fn who_does_not_queue_is_refused_at_once_and_told_when() {
    let pacer = window();
    let flown: Vec<Booking> = vec![goes(&pacer, &ENTRY, at(0)), goes(&pacer, &ENTRY, at(100))];
    let refusal = refused(&pacer, &ENTRY.no_queue(), at(200));
    assert_eq!((refusal.cause, refusal.queued), (PacingCause::NoQueue, 0));
    assert_eq!(refusal.retry_at.map(Monotonic::as_nanos), Some(1_000_000_001));
    assert_eq!(pacer.totals().refusals(PacingCause::NoQueue), 1);
    drop(flown);
}

/// Not "now": who believed that would ask again and again.
#[test]
fn where_only_what_is_in_flight_is_in_the_way_nobody_knows_when() {
    let pacer = pacer(&Pacing::new().in_flight(1));
    let flown = goes(&pacer, &ENTRY, at(0));
    let refusal = refused(&pacer, &ENTRY.no_queue(), at(1));
    assert_eq!((refusal.cause, refusal.retry_at), (PacingCause::NoQueue, None));
    let mut hasty = Waiting::new(&pacer, &ENTRY.deadline(at(10)), at(1));
    let refusal = hasty.refused(at(10));
    assert_eq!((refusal.cause, refusal.retry_at), (PacingCause::TooLate, None));
    drop(flown);
}

#[test]
fn what_costs_more_than_a_window_holds_is_refused_with_the_reason() {
    let pacer = window();
    assert_eq!(cause(&pacer, &ENTRY.cost(3), at(0)), PacingCause::Cost);
    assert_eq!(refused(&pacer, &ENTRY.cost(3), at(0)).retry_at, None);
    drop(goes(&pacer, &ENTRY.cost(2), at(0)));
}

#[test]
fn a_wait_up_to_the_very_end_of_a_budget_does_not_fit() {
    for (pacing, turn) in
        [(Pacing::new().gap(millis_of(1000)), 1000), (Pacing::new().at_most(1, millis_of(999)), 1000)]
    {
        let pacer = pacer(&pacing.margin(millis_of(0)));
        drop(goes(&pacer, &ENTRY, at(0)));
        assert_eq!(cause(&pacer, &ENTRY.deadline(at(turn - 1)), at(1)), PacingCause::TooLate);
        drop(queues(&pacer, &ENTRY.deadline(at(turn + 1)), at(1)));
    }
    let pacer = pacer(&Pacing::new().gap(millis_of(1000)));
    drop(goes(&pacer, &ENTRY, at(0)));
    assert_eq!(cause(&pacer, &ENTRY.deadline(at(1000)), at(1)), PacingCause::TooLate);
}

/// What costs nothing waits for those ahead of it, not for the window.
#[test]
fn what_costs_nothing_waits_for_no_window() {
    let pacer = window();
    drop(goes(&pacer, &ENTRY.cost(2), at(0)));
    let ahead = queues(&pacer, &ENTRY, at(1));
    drop(queues(&pacer, &ENTRY.cost(0).deadline(at(500)), at(1)));
    assert_eq!(cause(&pacer, &ENTRY.deadline(at(500)), at(1)), PacingCause::TooLate);
    drop(ahead);
    drop(goes(&pacer, &ENTRY.cost(0), at(2)));
}

#[test]
fn a_full_queue_refuses() {
    let pacer = pacer(&Pacing::new().gap(millis_of(1000)).queue(2));
    drop(goes(&pacer, &ENTRY, at(0)));
    let waiting = [(); 2].map(|()| Waiting::new(&pacer, &ENTRY, at(1)));
    let refusal = refused(&pacer, &ENTRY, at(2));
    assert_eq!((refusal.cause, refusal.queued), (PacingCause::QueueFull, 2));
    assert_eq!(refusal.retry_at, Some(at(3000)));
    drop(waiting);
    assert!(matches!(pacer.enter(&ENTRY, at(3)), Entered::Queued(_)));
}

/// Decided before it waits: whoever is certain to be too late is told at once, the one before still fits.
#[test]
fn a_turn_after_the_deadline_is_refused_before_it_is_waited_for() {
    let pacer = window();
    let flown: Vec<Booking> = vec![goes(&pacer, &ENTRY, at(0)), goes(&pacer, &ENTRY, at(100))];
    // Their turns: 1000, 1100, 2000, 2100, a nanosecond after each.
    let mut waiting = Vec::new();
    for (deadline, fits) in
        [(1000, false), (1001, true), (1100, false), (1101, true), (2000, false), (2001, true)]
    {
        let entry = ENTRY.deadline(at(deadline));
        if fits {
            waiting.push(Waiting::new(&pacer, &entry, at(200)));
        } else {
            let refusal = refused(&pacer, &entry, at(200));
            assert_eq!(refusal.cause, PacingCause::TooLate, "{deadline}");
            assert!(refusal.retry_at.is_some_and(|at| at >= crate::support::at(deadline)));
        }
    }
    drop(flown);
}

#[test]
fn the_wait_of_background_counts_the_interactive_ones_that_go_before() {
    let pacer = pacer(&Pacing::new().gap(millis_of(1000)));
    drop(goes(&pacer, &ENTRY, at(0)));
    let interactive: Vec<_> = (0..30).map(|_| Waiting::new(&pacer, &ENTRY, at(1))).collect();
    let background = |deadline| ENTRY.priority(Priority::Background).deadline(at(deadline));
    // The first may be next; nine interactive ones go before the second, and nine more before the third.
    let waiting: Vec<_> = [20_000; 2].map(|late| Waiting::new(&pacer, &background(late), at(1))).into();
    assert_eq!(cause(&pacer, &background(20_000), at(1)), PacingCause::TooLate);
    drop((interactive, waiting));
}

#[test]
fn a_deadline_that_comes_while_queued_ends_the_wait() {
    let pacer = pacer(&Pacing::new().in_flight(1));
    let flies = goes(&pacer, &ENTRY, at(0));
    let mut waiting = Waiting::new(&pacer, &ENTRY.deadline(at(500)), at(1));
    assert_eq!(waiting.sleeps(at(1)), at(500));
    let refusal = waiting.refused(at(500));
    assert_eq!((refusal.cause, pacer.view(at(500)).queued), (PacingCause::TooLate, 0));
    assert_eq!(waiting.refused(at(501)).cause, PacingCause::NoQueue, "it has no place any more");
    drop(flies);
}

/// The one ahead was slow to react; whoever leads now, and whose time is over before its turn, is told when it leads.
#[test]
fn who_cannot_be_in_time_any_more_is_refused_while_queued() {
    let pacer = pacer(&Pacing::new().gap(millis_of(1000)));
    drop(goes(&pacer, &ENTRY, at(0)));
    let mut first = Waiting::new(&pacer, &ENTRY, at(1));
    let mut second = Waiting::new(&pacer, &ENTRY.deadline(at(2_200)), at(1));
    drop(first.goes(at(1_500)));
    let refusal = second.refused(at(1_500));
    assert_eq!((refusal.cause, refusal.retry_at), (PacingCause::TooLate, Some(at(2_500))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// With one caller's attempts and one window, what is expected is what comes.
    #[test]
    fn the_expected_wait_is_exact_for_one_caller(
        most in 1..=20_u32,
        per in 50..=2_000_u64,
        sent in prop::collection::vec(0..400_u64, 0..40),
        ahead in 0..60_usize,
    ) {
        let pacer = pacer(&Pacing::new().at_most(most, millis_of(per)));
        let mut now = 1;
        for later in sent {
            now += later;
            drop(pacer.enter(&ENTRY.no_queue(), at(now)));
        }
        let mut waiting: Vec<_> = Vec::new();
        for _ in 0..ahead {
            match pacer.enter(&ENTRY, at(now)) {
                Entered::Queued(spot) => waiting.push(spot),
                other => drop(other),
            }
        }
        let mut last = match pacer.enter(&ENTRY.no_queue(), at(now)) {
            Entered::Refused(refusal) => refusal.retry_at.unwrap(),
            _ => return Ok(()),
        };
        let told = last;
        let mut time = at(now);
        waiting.push(match pacer.enter(&ENTRY, at(now)) {
            Entered::Queued(spot) => spot,
            other => panic!("{other:?}"),
        });
        for mut spot in waiting {
            loop {
                match spot.turn(std::task::Waker::noop(), time) {
                    Turn::Go(booking) => {
                        last = booking.at();
                        break;
                    }
                    Turn::Sleep(until) => time = until,
                    Turn::Refused(refusal) => panic!("{refusal:?}"),
                }
            }
        }
        prop_assert_eq!(told, last);
    }

    /// Whoever else waits: nobody is told a longer wait than it turns out to be, or it would be refused and could have gone.
    #[test]
    fn the_expected_wait_is_never_too_long(
        (most, per, gap) in (5..=20_u32, 50..=2_000_u64, 0..100_u64),
        share in 0..=90_u8,
        ahead in prop::collection::vec((1..=5_u32, any::<bool>(), 0..4_u8), 1..40),
    ) {
        let pacing = Pacing::new().at_most(most, millis_of(per)).gap(millis_of(gap)).background_share(share);
        let pacer = pacer(&pacing);
        let mut waiting: Vec<(Monotonic, Spot)> = Vec::new();
        for (cost, background, name) in ahead {
            let mut entry = ENTRY.cost(cost);
            if background {
                entry = entry.priority(Priority::Background);
            }
            if name > 0 {
                entry = entry.caller(Caller::of([name]));
            }
            match pacer.enter(&entry.no_queue(), at(1)) {
                Entered::Refused(refusal) => {
                    // Without a time, it waits for those of another caller alone, and may go now.
                    waiting.push((refusal.retry_at.unwrap_or(at(1)), queues(&pacer, &entry, at(1))));
                }
                other => drop(other),
            }
        }
        let mut now = at(1);
        while !waiting.is_empty() {
            now = serve(&mut waiting, now)?;
        }
    }
}

/// Lets the one go that is first, as soon as it may.
fn serve(waiting: &mut Vec<(Monotonic, Spot)>, mut now: Monotonic) -> Result<Monotonic, TestCaseError> {
    loop {
        let mut next = Monotonic::NEVER;
        for place in 0..waiting.len() {
            match waiting[place].1.turn(std::task::Waker::noop(), now) {
                Turn::Go(booking) => {
                    let (told, _) = waiting.remove(place);
                    prop_assert!(told <= booking.at(), "{:?} was told, and it is {:?}", told, booking.at());
                    return Ok(now);
                }
                Turn::Sleep(until) => next = next.min(until),
                Turn::Refused(refusal) => panic!("{refusal:?}"),
            }
        }
        now = next;
    }
}
