//! "Merge": what another replica decided.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Ask, Merged, Phase, Struck, Transition};
use forbear_core::time::Monotonic;

use super::support::*;

fn transition(epoch: u32, generation: u32, level: u8, length: u64, remaining: u64) -> Transition {
    Transition {
        epoch,
        generation,
        level,
        length: secs(length),
        remaining: secs(remaining),
        pace: None,
        struck: None,
        by: None,
        open: true,
        quiet: Duration::ZERO,
    }
}

#[test]
fn only_remaining_time_travels() {
    let (gate, other) = (gate(), gate());
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let travels = gate.transition(at(20.0));
    assert_eq!((travels.length, travels.remaining, travels.level), (secs(60), secs(40), 1));
    let there = Monotonic::from_nanos(5_000_000_000_000_000);
    assert_eq!(other.merge(&travels, there).0, Merged::Taken);
    assert_eq!(refused(&other, there).retry_at, Some(there.after(secs(40))));
    let view = view(&other, there);
    assert_eq!((view.phase, view.level, view.cooldown), (Phase::Cooling, 1, secs(60)));
    assert_eq!(other.merge(&travels, there).0, Merged::Unchanged);
}

#[test]
fn within_an_epoch_deadlines_merge_by_maximum() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    assert_eq!(gate.merge(&transition(0, 1, 1, 50, 50), at(0.0)).0, Merged::Unchanged);
    assert_eq!(refused(&gate, at(0.0)).retry_at, Some(at(60.0)));
    assert_eq!(gate.merge(&transition(0, 1, 1, 70, 70), at(0.0)).0, Merged::Extended);
    assert_eq!(refused(&gate, at(0.0)).retry_at, Some(at(70.0)));
    assert_eq!(gate.merge(&transition(0, 0, 1, 80, 80), at(0.0)).0, Merged::Extended);
    assert_eq!(gate.merge(&transition(0, 5, 3, 10, 10), at(0.0)).0, Merged::Taken);
    let now = gate.transition(at(0.0));
    assert_eq!((now.generation, now.level, now.remaining), (5, 3, secs(80)));
}

#[test]
fn an_older_transition_never_closes_an_open_gate() {
    let gate = gate();
    let now = recovering(&gate, secs(1), at(0.0)).after(secs(20));
    assert_eq!(phase(&gate, now), Phase::Open);
    assert_eq!(gate.merge(&transition(0, 0, 7, 600, 600), now).0, Merged::Unchanged);
    let _ = go(&gate, now);
}

#[test]
fn a_newer_one_closes_an_open_gate_and_older_tickets_are_inert() {
    let gate = gate();
    let ticket = go(&gate, at(0.0));
    assert_eq!(gate.merge(&transition(0, 3, 2, 600, 600), at(0.0)).0, Merged::Taken);
    let _ = good(&gate, &ticket, at(0.1));
    assert_eq!(refused(&gate, at(0.1)).retry_at, Some(at(600.0)));
}

#[test]
fn a_higher_epoch_replaces_the_whole_and_a_lower_one_nothing() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(600)), at(0.0));
    assert_eq!(gate.merge(&transition(1, 0, 2, 20, 10), at(1.0)).0, Merged::Taken);
    let now = gate.transition(at(1.0));
    assert_eq!((now.epoch, now.generation, now.level, now.remaining), (1, 0, 2, secs(10)));
    assert_eq!(gate.merge(&transition(0, 9, 7, 900, 900), at(1.0)).0, Merged::Unchanged);
    assert_eq!(gate.transition(at(1.0)), now);
}

#[test]
fn another_replicas_clear_begins_a_recovery_here() {
    let (here, there) = (gate(), gate());
    let _ = strike(&here, &throttled().delay(secs(600)), at(0.0));
    let _ = there.merge(&here.transition(at(0.0)), at(0.0));
    let _ = there.clear(operator(), at(1.0));
    let _ = here.merge(&there.transition(at(1.0)), at(1.0));
    let view = view(&here, at(1.0));
    assert_eq!((view.phase, view.level, view.cooldown), (Phase::Recovering, 0, Duration::ZERO));
}

#[test]
fn a_hostile_record_is_bounded() {
    let gate = gate();
    let mut record = transition(0, 9, 200, u64::MAX, u64::MAX);
    record.pace = Some(f64::NAN);
    let _ = gate.merge(&record, at(0.0));
    let now = gate.transition(at(0.0));
    assert_eq!((now.level, now.remaining), (7, secs(86_400)));
    let probe = go(&gate, at(86_400.0));
    let _ = good(&gate, &probe, at(86_400.0));
    for second in 1..5 {
        let _ = go(&gate, at(86_400.0 + f64::from(second)));
    }
}

#[test]
fn remaining_is_clamped_to_the_recorded_length() {
    let gate = gate();
    let _ = gate.merge(&transition(0, 1, 1, 30, 300), at(0.0));
    assert_eq!(refused(&gate, at(0.0)).retry_at, Some(at(30.0)));
}

/// Two replicas whose monotonic clocks have different origins.
#[test]
fn the_level_falls_by_this_hosts_clock_and_not_the_other_hosts() {
    let gate = gate();
    let mut record = transition(0, 1, 3, 10, 10);
    let ahead = at(10_000_000.0);
    record.struck =
        Some(Arc::new(Struck { signal: throttled().delay(secs(10)), route: ROUTE.into(), at: ahead }));
    let _ = gate.merge(&record, at(0.0));
    assert_eq!(view(&gate, at(10.0)).level, 3);
    assert_eq!(view(&gate, at(30.0)).level, 2);
    assert_eq!(view(&gate, at(70.0)).level, 0);
}

/// A clear on a replica that had seen fewer strikes than this one.
#[test]
fn attempts_are_still_counted_after_a_higher_epoch_with_a_lower_generation() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..5 {
        now = strike(&gate, &throttled().delay(secs(1)), now).retry_at.unwrap();
    }
    let _ = gate.merge(&transition(1, 1, 0, 0, 0), now);
    for _ in 0..3 {
        let ticket = go(&gate, now);
        let _ = good(&gate, &ticket, now);
        now = now.after(secs(1));
    }
    now = now.after(secs(20));
    assert_eq!(phase(&gate, now), Phase::Open);
    for _ in 0..12 {
        let ticket = go(&gate, now);
        let _ = good(&gate, &ticket, now);
        now = now.after(ms(300));
    }
    let strike = strike(&gate, &throttled(), now);
    assert!(!strike.blind, "twelve attempts were accepted");
    assert!(gate.transition(now).pace.is_some());
}

#[test]
fn a_taken_transition_ends_the_lease_of_this_replicas_probe() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let probe = go(&gate, at(5.0));
    let _ = gate.merge(&transition(0, 2, 2, 60, 60), at(5.1));
    let _ = good(&gate, &probe, at(5.2));
    assert_eq!(refused(&gate, at(5.2)).retry_at, Some(at(65.1)));
    let next = go(&gate, at(65.1));
    assert_eq!(neutral(&gate, &probe, at(65.1)), forbear_core::gate::Effect::None);
    assert!(next.is_probe());
    let _ = refused(&gate, at(65.1));
}

/// A clear elsewhere, then a short cool-down that is over: nobody sleeps for the long one that it replaced.
#[test]
fn who_waits_for_a_cooldown_that_was_replaced_is_served() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(600)), at(0.0));
    let mut waiting = Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0));
    assert_eq!(waiting.sleeps(at(1.0)), at(600.0));
    let _ = gate.merge(&transition(1, 2, 1, 1, 0), at(2.0));
    assert!(waiting.stirs(at(2.0)));
    assert!(waiting.granted(at(2.0)).is_some());
}

/// What a store kept of a family that was not probed since.
#[test]
fn one_that_was_closed_and_does_not_cool_any_more_is_probed() {
    let closed = || Transition { open: false, ..transition(0, 3, 2, 60, 0) };
    let fresh = gate();
    let _ = fresh.merge(&closed(), at(100.0));
    assert_eq!(phase(&fresh, at(100.0)), Phase::Probing);
    let probe = go(&fresh, at(100.0));
    let _ = refused(&fresh, at(100.0));
    let _ = good(&fresh, &probe, at(100.1));
    assert_eq!(phase(&fresh, at(100.1)), Phase::Recovering);
    let open = gate();
    let _ = open.merge(&transition(0, 3, 2, 60, 0), at(100.0));
    assert_eq!((phase(&open, at(100.0)), view(&open, at(100.0)).level), (Phase::Open, 2));
}

#[test]
fn the_quiet_time_that_a_store_tells_lowers_the_level() {
    let gate = gate();
    let quiet = Transition { quiet: secs(250), ..transition(0, 3, 5, 60, 0) };
    let _ = gate.merge(&quiet, at(1_000.0));
    assert_eq!(view(&gate, at(1_000.0)).level, 3);
    assert_eq!(view(&gate, at(1_111.0)).level, 2);
}

#[test]
fn an_operators_deadline_travels_with_its_operator_and_is_longer_than_a_vendors_may_be() {
    let (gate, other) = (gate(), gate());
    let _ = gate.cool(secs(10 * 86_400), operator(), at(0.0));
    let _ = other.merge(&gate.transition(at(5.0)), at(5.0));
    let shown = view(&other, at(5.0));
    assert!(shown.by_operator && shown.until == Some(at(10.0 * 86_400.0)));
    assert_eq!(shown.acted.map(|acted| acted.by.clone()), Some(operator()));
    let _ = gate.cool(secs(10_000 * 86_400), operator(), at(5.0));
    let _ = other.merge(&gate.transition(at(5.0)), at(5.0));
    assert_eq!(view(&other, at(5.0)).until, Some(at(5.0).after(secs(366 * 86_400))), "at most a year");
}

/// An operator's on another replica.
#[test]
fn a_cool_down_of_no_length_ends_none_that_runs_here() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    assert_eq!(gate.merge(&transition(0, 5, 1, 0, 0), at(1.0)).0, Merged::Taken);
    assert_eq!(refused(&gate, at(1.0)).retry_at, Some(at(60.0)));
}

#[test]
fn a_learned_pace_travels_and_one_that_cannot_be_does_not() {
    for (sent, taken) in [
        (Some(12.5), Some(12.5)),
        (None, None),
        (Some(-12.5), None),
        (Some(0.0), None),
        (Some(f64::MIN_POSITIVE / 2.0), None),
        (Some(f64::INFINITY), None),
        (Some(f64::NAN), None),
    ] {
        let gate = gate();
        let _ = gate.merge(&Transition { pace: sent, ..transition(0, 1, 1, 60, 60) }, at(0.0));
        assert_eq!(gate.transition(at(0.0)).pace, taken, "{sent:?}");
    }
}

#[test]
fn nothing_is_accepted_since_a_cool_down_that_is_taken_over_began() {
    for (remaining, unserved_since) in [(40, Some(at(80.0))), (0, None)] {
        let gate = gate();
        let _ = gate.merge(&transition(0, 1, 1, 60, remaining), at(100.0));
        assert_eq!(view(&gate, at(100.0)).unserved_since, unserved_since);
    }
}
