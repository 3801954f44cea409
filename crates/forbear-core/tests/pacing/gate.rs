//! The pacer of a gate: it lives with the family, and ends its waits when the gate closes.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::families::{Families, Family};
use forbear_core::gate::{Ask, Effect, Gate, Operator, Outcome, RefusalCause};
use forbear_core::pacing::{Booking, Pacing, PacingCause, RetryQuota};
use forbear_core::partition::Partition;
use forbear_core::presets;
use forbear_core::signal::{Class, Signal};
use forbear_core::time::Monotonic;
use http::StatusCode;

use crate::support::{ENTRY, Waiting, at, goes, millis_of, queues, refused};

fn gate(pacing: &Pacing) -> Arc<Gate> {
    let gate = Gate::new("vendor", Arc::default());
    gate.pace(Some(pacing));
    gate
}

fn operator() -> Operator {
    Operator::new("alice", "")
}

fn throttled() -> Signal {
    Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(5))
}

#[test]
fn without_pacing_there_is_none() {
    let gate = Gate::new("vendor", Arc::default());
    assert!(gate.pacer().is_none());
    gate.pace(None);
    assert!(gate.pacer().is_none());
}

#[test]
fn a_strike_or_a_pause_wakes_everybody_who_waits() {
    let gate = gate(&Pacing::new().gap(millis_of(1000)));
    let pacer = gate.pacer().unwrap();
    drop(goes(pacer, &ENTRY, at(0)));
    let mut waiting = [(); 3].map(|()| Waiting::new(pacer, &ENTRY, at(1)));
    let sleep = |waiting: &mut [Waiting; 3], now| {
        for one in waiting {
            assert!(one.sleeps(at(now)) > at(now));
        }
    };
    sleep(&mut waiting, 1);
    let ticket = gate.admit_open(at(2)).unwrap();
    assert!(gate.look(&Ask::new(at(2)), at(2)).is_none());
    let _ = gate.observe(&ticket, Outcome::Bad(&throttled(), "/"), at(3));
    assert_eq!([1, 1, 1], [0, 1, 2].map(|at: usize| waiting[at].rings()));
    let refusal = gate.look(&Ask::new(at(4)), at(4)).unwrap();
    assert_eq!((refusal.cause, refusal.retry_at), (RefusalCause::Cooling, Some(at(5003))));
    sleep(&mut waiting, 4);
    // Who is refused meanwhile wakes nobody.
    assert!(gate.look(&Ask::new(at(4)), at(4)).is_some());
    assert_eq!([1, 1, 1], [0, 1, 2].map(|at: usize| waiting[at].rings()));
    let _ = gate.pause(operator(), at(5));
    assert_eq!([2, 2, 2], [0, 1, 2].map(|at: usize| waiting[at].rings()));
    assert_eq!(gate.look(&Ask::new(at(6)), at(6)).map(|refusal| refusal.cause), Some(RefusalCause::Paused));
    let _ = gate.resume(operator(), at(7));
    // A part of the family closes: those that it concerns wait in the same queue.
    sleep(&mut waiting, 8);
    let part = gate.partition_for(Partition::of("key"), at(8));
    assert!(Arc::ptr_eq(part.pacer().unwrap(), pacer));
    let _ = part.cool(Duration::from_secs(1), operator(), at(9));
    assert_eq!([3, 3, 3], [0, 1, 2].map(|at: usize| waiting[at].rings()));
}

#[test]
fn while_a_probe_is_due_it_is_asked_in_earnest() {
    let gate = gate(&Pacing::new().gap(millis_of(1)));
    let ticket = gate.admit_open(at(0)).unwrap();
    let _ = gate.observe(&ticket, Outcome::Bad(&throttled(), "/"), at(0));
    assert!(gate.look(&Ask::new(at(4_999)), at(4_999)).is_some());
    assert!(gate.look(&Ask::new(at(5_000)), at(5_000)).is_none());
    let (decision, _) = gate.admit(&Ask::new(at(5_000)), at(5_000));
    assert!(matches!(decision, forbear_core::gate::Decision::Go(ticket) if ticket.is_probe()));
    let refusal = gate.look(&Ask::new(at(5_001)), at(5_001)).unwrap();
    assert_eq!(refusal.cause, RefusalCause::Probing);
}

/// What was sent before counts, and what is in flight as well.
#[test]
fn new_settings_hold_for_what_was_sent_before() {
    let gate = gate(&Pacing::new().at_most(10, millis_of(1000)).in_flight(20));
    let pacer = Arc::clone(gate.pacer().unwrap());
    let mut flies: Vec<Booking> = (0..6).map(|now| goes(&pacer, &ENTRY, at(now))).collect();
    gate.pace(Some(&Pacing::new().at_most(6, millis_of(500)).in_flight(20)));
    assert_eq!(refused(&pacer, &ENTRY.no_queue(), at(10)).retry_at.unwrap().as_nanos(), 500_000_001);
    let mut waiting = Waiting::new(&pacer, &ENTRY, at(10));
    let _ = waiting.sleeps(at(10));
    gate.pace(Some(&Pacing::new().at_most(7, millis_of(800)).in_flight(6)));
    assert_eq!(waiting.rings(), 1);
    let _ = waiting.sleeps(at(11));
    flies.pop().unwrap().give_back(at(12));
    assert_eq!(waiting.rings(), 2);
    flies.push(waiting.goes(at(12)));
    gate.pace(None);
    assert!(gate.pacer().is_none() && !pacer.paces());
    gate.pace(Some(&Pacing::new().in_flight(6)));
    assert_eq!(gate.pacer().unwrap().view(at(13)).in_flight, Some(6));
    drop(flies);
    assert_eq!(pacer.view(at(13)).in_flight, Some(0));
}

/// Also where there was none before, and nobody noted when the last attempt went.
#[test]
fn a_new_gap_begins_with_the_last_attempt() {
    let gate = gate(&Pacing::new().at_most(10, millis_of(1000)));
    let pacer = Arc::clone(gate.pacer().unwrap());
    drop(goes(&pacer, &ENTRY, at(100)));
    gate.pace(Some(&Pacing::new().gap(millis_of(200))));
    assert_eq!(refused(&pacer, &ENTRY.no_queue(), at(150)).retry_at, Some(at(300)));
    drop(goes(&pacer, &ENTRY, at(300)));
}

#[test]
fn an_attempt_needs_the_limits_of_its_partition_and_of_its_family() {
    let each = Pacing::new().at_most(2, millis_of(1000));
    let gate = gate(&Pacing::new().at_most(3, millis_of(1000)).per_partition(each));
    let family = gate.pacer().unwrap();
    let part = |key: &str| family.part(Partition::of(key), at(0)).unwrap();
    assert!(Arc::ptr_eq(&part("a"), &part("a")) && !Arc::ptr_eq(&part("a"), &part("b")));
    for key in ["a", "a", "b"] {
        drop((goes(&part(key), &ENTRY, at(0)), goes(family, &ENTRY, at(0))));
    }
    assert_eq!(family.totals().refused(), 0);
    assert_eq!(refused(&part("a"), &ENTRY.no_queue(), at(1)).cause, PacingCause::NoQueue);
    assert_eq!((family.totals().refused(), family.view(at(1)).totals.refused()), (1, 1));
    let mut booking = goes(&part("b"), &ENTRY, at(1));
    let mut waits = Waiting::new(family, &ENTRY, at(1));
    booking.hold(at(1));
    // Held back, it counts for its partition, whatever the time.
    let held = refused(&part("b"), &ENTRY.no_queue(), at(999));
    assert_eq!(held.retry_at.map(Monotonic::as_nanos), Some(1_000_000_001));
    let family_booking = waits.goes(at(1_001));
    booking.sent(at(1_001)).unwrap();
    drop((booking, family_booking));
    drop(goes(&part("b"), &ENTRY, at(1_002)));
    assert_eq!(refused(&part("b"), &ENTRY.no_queue(), at(1_003)).retry_at.unwrap().as_nanos(), 2_001_000_001);
    gate.pace(Some(&Pacing::new().at_most(3, millis_of(1000))));
    assert!(family.part(Partition::of("a"), at(2_000)).is_none());
}

/// A new span takes what was sent from one that knows as much, not from a shorter one.
#[test]
fn another_span_counts_what_was_sent_before() {
    let gate = gate(&Pacing::new().at_most(100, millis_of(1000)).at_most(3, millis_of(60_000)));
    let pacer = gate.pacer().unwrap();
    for now in [0, 10_000, 20_000] {
        drop(goes(pacer, &ENTRY, at(now)));
    }
    // The shorter span knows nothing of them any more.
    let _ = pacer.view(at(24_000));
    gate.pace(Some(&Pacing::new().at_most(3, millis_of(30_000))));
    let refusal = refused(pacer, &ENTRY.no_queue(), at(25_000));
    assert_eq!(refusal.retry_at.map(Monotonic::as_nanos), Some(30_000_000_001));
}

/// How long what is held back for another queue will take, nobody knows: who waits for it does not look every now and then.
#[test]
fn who_waits_for_what_is_held_back_for_another_queue_is_woken() {
    let pacer = crate::support::pacer(&Pacing::new().at_most(1, millis_of(100)));
    let mut first = goes(&pacer, &ENTRY, at(0));
    first.hold_queued(at(0));
    let mut second = Waiting::new(&pacer, &ENTRY, at(150));
    assert_eq!(second.sleeps(at(200)), Monotonic::NEVER);
    first.give_back(at(300));
    assert_eq!(second.rings(), 1);
    drop(second.goes(at(300)));
}

/// A gap or a window of one is not used by somebody else while its attempt waits elsewhere.
#[test]
fn what_is_held_back_keeps_its_distance() {
    for pacing in [Pacing::new().gap(millis_of(100)), Pacing::new().at_most(1, millis_of(100))] {
        let pacer = crate::support::pacer(&pacing);
        let mut first = goes(&pacer, &ENTRY, at(0));
        first.hold(at(0));
        let mut second = Waiting::new(&pacer, &ENTRY, at(150));
        let _ = second.sleeps(at(200));
        first.sent(at(300)).unwrap();
        assert_eq!(second.rings(), 1);
        assert!(second.sleeps(at(300)) >= at(400));
        first.hold(at(350));
        drop(first);
        drop(second.goes(at(350)));
    }
}

/// Its task is not polled any more, or what it waits for never comes: after a second the others go, and it goes a gap later.
#[test]
fn what_is_held_back_for_a_second_is_not_waited_for() {
    let pacer = crate::support::pacer(&Pacing::new().gap(millis_of(100)));
    let mut held = goes(&pacer, &ENTRY, at(0));
    held.hold(at(0));
    let mut second = Waiting::new(&pacer, &ENTRY, at(150));
    assert_eq!(second.sleeps(at(150)), at(1_000));
    drop(second.goes(at(1_000)));
    assert_eq!(held.sent(at(1_050)), Err(at(1_100)));
    // Nobody else takes that from it.
    let mut third = Waiting::new(&pacer, &ENTRY, at(1_060));
    assert_eq!(third.sleeps(at(1_100)), at(2_100));
    assert_eq!((held.sent(at(1_100)), third.rings()), (Ok(()), 1));
    assert_eq!(third.sleeps(at(1_100)), at(1_200));
}

/// Two that were held back for too long keep their distance from each other as well.
#[test]
fn two_that_were_held_back_do_not_go_together() {
    let pacer = crate::support::pacer(&Pacing::new().gap(millis_of(100)));
    let mut one = goes(&pacer, &ENTRY, at(0));
    one.hold(at(0));
    let mut other = goes(&pacer, &ENTRY, at(1_000));
    other.hold(at(1_000));
    drop(goes(&pacer, &ENTRY, at(2_000)));
    assert_eq!((one.sent(at(2_010)), other.sent(at(2_020))), (Err(at(2_100)), Err(at(2_100))));
    assert_eq!((other.sent(at(2_100)), one.sent(at(2_100))), (Ok(()), Err(at(2_200))));
    assert_eq!(one.sent(at(2_200)), Ok(()));
}

/// Nor by one that costs nothing, when something else has ended meanwhile.
#[test]
fn what_costs_nothing_keeps_its_distance_too() {
    let pacer = crate::support::pacer(&Pacing::new().gap(millis_of(100)).in_flight(5));
    let flies = goes(&pacer, &ENTRY, at(0));
    let mut held = goes(&pacer, &ENTRY, at(100));
    held.hold(at(100));
    drop(flies);
    assert_eq!(refused(&pacer, &ENTRY.cost(0).no_queue(), at(250)).cause, PacingCause::NoQueue);
    held.sent(at(300)).unwrap();
    drop(held);
    assert_eq!(refused(&pacer, &ENTRY.cost(0).no_queue(), at(399)).retry_at, Some(at(400)));
    drop(goes(&pacer, &ENTRY.cost(0), at(400)));
}

#[test]
fn shutting_down_ends_every_wait() {
    let each = Pacing::new().gap(millis_of(1000));
    let pacing = Pacing::new().gap(millis_of(1000)).per_partition(each).retry_quota(RetryQuota::new(1));
    let families =
        Families::builder().family(Family::new("a").host("a.example").pacing(pacing)).build().unwrap();
    let member = families.named("a").unwrap();
    let pacer = member.gate.pacer().unwrap();
    let part = pacer.part(Partition::of("key"), at(0)).unwrap();
    for pacer in [pacer, &part] {
        drop(goes(pacer, &ENTRY, at(0)));
    }
    let mut waiting = [pacer, &part].map(|pacer| Waiting::new(pacer, &ENTRY, at(1)));
    waiting.iter_mut().for_each(|one| assert!(one.sleeps(at(1)) > at(1)));
    assert_eq!(families.shut_down(at(2)), Some(2));
    for one in &mut waiting {
        assert_eq!((one.rings(), one.refused(at(3)).cause), (1, PacingCause::ShuttingDown));
    }
    assert_eq!(refused(pacer, &ENTRY, at(4)).cause, PacingCause::ShuttingDown);
    drop(goes(pacer, &ENTRY, at(1000)));
}

/// `Overloaded`, with a reason that tells of too much in flight.
fn concurrency() -> Signal {
    let signal = Signal::new(Class::Overloaded, StatusCode::SERVICE_UNAVAILABLE).reason("inflight_limit");
    signal.delay(Duration::from_secs(5))
}

#[test]
fn where_it_is_steered_too_much_in_flight_lowers_that_and_does_not_close_the_family() {
    for (steered, effect) in [(true, Effect::None), (false, Effect::Struck)] {
        let gate = gate(&Pacing::new().in_flight(8).steered(steered));
        let pacer = gate.pacer().unwrap();
        let flies: Vec<Booking> = (0..8).map(|_| goes(pacer, &ENTRY, at(0))).collect();
        let ticket = gate.admit_open(at(0)).unwrap();
        assert_eq!(gate.observe(&ticket, Outcome::Bad(&concurrency(), "/"), at(1)).effect, effect);
        assert_eq!(gate.is_open(), steered);
        assert_eq!(pacer.view(at(1)).in_flight_limit, Some(if steered { 4 } else { 8 }));
        assert_eq!(gate.totals().signals(Class::Overloaded), 1);
        drop(flies);
    }
}

#[test]
fn another_signal_closes_a_steered_family() {
    let gate = gate(&Pacing::new().in_flight(8).steered(true));
    let ticket = gate.admit_open(at(0)).unwrap();
    assert_eq!(gate.observe(&ticket, Outcome::Bad(&throttled(), "/"), at(1)).effect, Effect::Struck);
}

#[test]
fn a_replaced_family_keeps_its_pacer_and_what_was_sent() {
    let family =
        |most| Family::new("a").host("a.example").pacing(Pacing::new().at_most(most, millis_of(1000)));
    let families = Families::builder().family(family(1)).build().unwrap();
    let pacer = Arc::clone(families.named("a").unwrap().gate.pacer().unwrap());
    drop(goes(&pacer, &ENTRY, at(0)));
    families.replace(family(2), at(1)).unwrap();
    let again = Arc::clone(families.named("a").unwrap().gate.pacer().unwrap());
    assert!(Arc::ptr_eq(&pacer, &again));
    drop(goes(&again, &ENTRY, at(2)));
    drop(queues(&again, &ENTRY, at(3)));
}

#[test]
fn wrong_settings_are_named() {
    let problem = |pacing| {
        let family = Family::new("a").host("a.example").pacing(pacing);
        Families::builder().family(family).build().unwrap_err().to_string()
    };
    let second = millis_of(1000);
    let gap = || Pacing::new().gap(second);
    for (pacing, key) in [
        (Pacing::new(), "pacing is without a limit"),
        (Pacing::new().at_most(0, second), "at_most is 0 per 1s; both must be more than zero"),
        (Pacing::new().at_most(1, Duration::ZERO), "at_most is 1 per 0ns"),
        (Pacing::new().at_most(1, Duration::MAX), "366 days"),
        (Pacing::new().gap(Duration::MAX), "gap is"),
        (gap().margin(Duration::MAX), "margin is"),
        (gap().in_flight(0), "in_flight is 0; it must be more than zero"),
        (gap().background_share(91), "background_share is 91 %; it must be 0 to 90"),
        (gap().retry_quota(RetryQuota::new(1).permille(0)), "retry_quota is 0 thousandths"),
        (gap().retry_quota(RetryQuota::new(1).permille(10_001)), "1 to 10000"),
        (gap().retry_quota(RetryQuota::new(0).at_most(0)), "at least one attempt"),
        (gap().per_partition(Pacing::new()), "per_partition is wrong: pacing is without a limit"),
        (gap().per_partition(gap().per_partition(gap())), "within itself"),
        (gap().per_partition(gap().retry_quota(RetryQuota::new(1))), "for the whole family"),
        ((0..9).fold(Pacing::new(), |pacing, _| pacing.at_most(1, second)), "given 9 times"),
    ] {
        let text = problem(pacing);
        assert!(text.contains(key), "{text}");
    }
    let longest = Duration::from_secs(366 * 24 * 60 * 60);
    for fine in [
        Pacing::new().per_partition(gap()),
        Pacing::new().gap(longest).margin(longest),
        Pacing::new().at_most(1, longest),
        gap().background_share(90),
        (0..8).fold(Pacing::new(), |pacing, _| pacing.at_most(1, second)),
    ] {
        assert!(
            Families::builder().family(Family::new("a").pacing(fine.clone())).build().is_ok(),
            "{fine:?}"
        );
    }
}

#[test]
fn health_says_how_a_family_is_paced() {
    let each = Pacing::new().at_most(2, millis_of(1000));
    let pacing = Pacing::new().gap(millis_of(500)).at_most(100, Duration::from_secs(60)).in_flight(8);
    let paced = Family::new("a").host("a.example").pacing(pacing.per_partition(each));
    let families =
        Families::builder().family(paced).family(Family::new("b").host("b.example")).build().unwrap();
    let member = families.named("a").unwrap();
    let pacer = member.gate.pacer().unwrap();
    let flies = goes(pacer, &ENTRY, at(0));
    let waits = queues(pacer, &ENTRY, at(100));
    let _ = refused(pacer, &ENTRY.no_queue(), at(100));
    let (health, _) = forbear_core::health::Health::of(&families, at(100));
    let family = health.family("a").unwrap();
    let shown = serde_json::to_value(family.pacing.as_ref().unwrap()).unwrap();
    let expected = serde_json::json!({
        "limits": ["100 per 1m00s", "gap 500ms", "8 in flight", "2 per 1.0s per partition"],
        "queued": 1, "in_flight": 1, "in_flight_limit": 8, "next_in_ms": 400, "steered_ms": null,
        "retries_left": null, "waited": 1, "refusals": { "no-queue": 1 },
    });
    assert_eq!(shown, expected);
    assert_eq!(family.to_string(), "open  1 queued");
    assert!(health.family("b").unwrap().pacing.is_none());
    drop((flies, waits));
}

/// Where its vendor publishes a limit, and that was verified; and only where it is asked for.
#[test]
fn presets_are_paced_where_it_is_asked_for() {
    let pacing = |family: Family| {
        let families = Families::builder().family(family).build().unwrap();
        let member = families.members().remove(0);
        member.gate.pacer().map(|pacer| pacer.view(at(0)).pacing)
    };
    let mut paced = 0;
    for preset in presets::all() {
        assert_eq!(pacing(preset.family()), None, "{}", preset.name());
        assert_eq!(pacing(preset.paced()), preset.pacing(), "{}", preset.name());
        let verified = preset.published().iter().any(|limit| limit.verified);
        assert_eq!(preset.pacing().is_some(), verified, "{}", preset.name());
        paced += usize::from(verified);
    }
    assert!(paced > 3);
    let brave = presets::named("airtable").unwrap().pacing();
    assert_eq!(brave, Some(Pacing::new().at_most(5, Duration::from_secs(1))));
}
