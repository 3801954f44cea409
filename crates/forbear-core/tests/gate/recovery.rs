//! "Recovery": called at a pace until nobody has to wait.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Ask, Decision, Event, Gate, Phase, Priority, RefusalCause};
use forbear_core::time::Monotonic;

use super::support::*;

/// A family called 100 times a second for 10 s, struck with `delay` after service, whose probe took `took` and was
/// accepted. Recovering at w = 100 since the time returned.
fn learned(delay: Duration, took: Duration) -> (Arc<Gate>, Monotonic) {
    let gate = gate();
    for i in 0..999 {
        let now = at(0.01 * f64::from(i));
        let ticket = go(&gate, now);
        let _ = good(&gate, &ticket, now.after(took));
    }
    let strike = strike(&gate, &throttled().delay(delay), at(9.99));
    assert!(!strike.blind);
    let until = strike.retry_at.unwrap();
    let probe = go(&gate, until);
    let _ = good(&gate, &probe, until.after(took));
    (gate, until.after(took))
}

/// Asks as fast as it can from `from` on for `span`, one caller that never waits; how many were let through.
fn served(gate: &Gate, from: Monotonic, span: Duration) -> u32 {
    let millis = u64::try_from(span.as_millis()).unwrap();
    let mut served = 0;
    for millisecond in 0..millis {
        let now = from.after(ms(millisecond));
        while let Decision::Go(_) = decide(gate, now) {
            served += 1;
            assert!(served < 1_000_000);
        }
    }
    served
}

#[track_caller]
fn pace(gate: &Gate, now: Monotonic) -> f64 {
    view(gate, now).pace.expect("recovering")
}

#[track_caller]
fn close_to(pace: f64, expected: f64) {
    assert!((pace - expected).abs() <= expected * 0.01, "{pace} is not close to {expected}");
}

#[test]
fn after_service_it_starts_a_tenth_below_the_learned_pace() {
    let (gate, start) = learned(secs(1), ms(10));
    close_to(pace(&gate, start), 90.0);
}

#[test]
fn it_is_back_at_the_learned_pace_after_k_of_waiting_and_then_tries_more() {
    let (gate, start) = learned(secs(1), ms(10));
    let _ = served(&gate, start, secs(20));
    close_to(pace(&gate, start.after(secs(20))), 100.0);
    let _ = served(&gate, start.after(secs(20)), secs(20));
    close_to(pace(&gate, start.after(secs(40))), 110.0);
}

#[test]
fn k_is_at_least_ten_seconds() {
    let (gate, start) = learned(ms(300), ms(10));
    let _ = served(&gate, start, secs(10));
    close_to(pace(&gate, start.after(secs(10))), 100.0);
}

#[test]
fn the_pace_bounds_what_is_sent() {
    let (gate, start) = learned(secs(1), ms(10));
    let sent = served(&gate, start, secs(10));
    assert!((900..=1000).contains(&sent), "{sent} in 10 s at 90 to 99 a second, and a bucket of 5");
}

#[test]
fn the_bucket_holds_50_ms_worth_and_is_full_at_the_start() {
    let (gate, start) = learned(secs(1), ms(10));
    assert_eq!(served(&gate, start, ms(1)), 4);
    assert_eq!(served(&gate, start.after(secs(5)), ms(1)), 4, "no more is saved up");
}

#[test]
fn the_bucket_holds_at_least_one() {
    let gate = gate();
    for i in 0..5 {
        let ticket = go(&gate, at(f64::from(i)));
        let _ = good(&gate, &ticket, at(f64::from(i)));
    }
    let until = strike(&gate, &throttled().delay(secs(1)), at(5.0)).retry_at.unwrap();
    let probe = go(&gate, until);
    let _ = good(&gate, &probe, until);
    assert_eq!(served(&gate, until, ms(1)), 1);
    assert_eq!(served(&gate, until.after(secs(3)), ms(1)), 1);
}

#[test]
fn after_blind_strikes_the_pace_stands() {
    let (gate, start) = learned(secs(1), ms(10));
    let _ = strike(&gate, &throttled().delay(secs(1)), start);
    let blind = strike(&gate, &throttled().delay(secs(1)), start.after(secs(1)));
    assert!(blind.blind);
    let w = gate.transition(start.after(secs(1))).pace.unwrap();
    let until = blind.retry_at.unwrap();
    let probe = go(&gate, until);
    let _ = good(&gate, &probe, until);
    close_to(pace(&gate, until), w);
    let _ = served(&gate, until, secs(10));
    close_to(pace(&gate, until.after(secs(10))), w * 1.1);
}

#[test]
fn without_a_known_pace_it_is_two_per_attempt_time_doubling_each() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(1)), at(0.0));
    let _probe = go(&gate, at(1.0));
    let start = at(1.25);
    close_to(pace(&gate, start), 2.0 / 0.05);
    let _ = served(&gate, start, ms(100));
    close_to(pace(&gate, start.after(ms(100))), 4.0 * 2.0 / 0.05);
}

#[test]
fn the_attempt_time_is_that_of_good_answers() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(1)), at(0.0));
    let probe = go(&gate, at(1.0));
    let _ = good(&gate, &probe, at(1.2));
    close_to(pace(&gate, at(1.2)), 2.0 / 0.2);
    assert_eq!(view(&gate, at(1.2)).attempt_time, (ms(200), Duration::ZERO, 1));
}

#[test]
fn the_attempt_time_moves_by_an_eighth_and_its_deviation_by_a_quarter() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(1)), at(0.0));
    let probe = go(&gate, at(1.0));
    let _ = good(&gate, &probe, at(1.2));
    let next = go(&gate, at(1.3));
    let _ = good(&gate, &next, at(1.9));
    let (mean, deviation, samples) = view(&gate, at(1.9)).attempt_time;
    assert_eq!((mean.as_millis(), deviation.as_millis(), samples), (250, 100, 2));
}

#[test]
fn the_clock_stands_while_nobody_waits() {
    let (gate, start) = learned(secs(10), ms(10));
    let later = start.after(secs(9));
    let _ = go(&gate, later);
    close_to(pace(&gate, later), 90.0);
}

#[test]
fn a_caller_refused_for_want_of_a_place_runs_the_clock_for_a_second() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(1)), at(0.0));
    let probe = go(&gate, at(1.0));
    let start = at(1.2);
    let _ = good(&gate, &probe, start);
    let before = pace(&gate, start);
    while let Decision::Go(_) = decide(&gate, start) {}
    close_to(pace(&gate, start.after(ms(500))), before * 2.0_f64.powf(2.5));
    close_to(pace(&gate, start.after(secs(1))), before * 2.0_f64.powf(5.0));
    close_to(pace(&gate, start.after(secs(5))), before * 2.0_f64.powf(5.0));
}

#[test]
fn a_refused_caller_that_waits_instead_runs_it_only_while_it_waits() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(1)), at(0.0));
    let probe = go(&gate, at(1.0));
    let start = at(1.2);
    let _ = good(&gate, &probe, start);
    let before = pace(&gate, start);
    let refusal = loop {
        if let Decision::Refuse(refusal) = decide(&gate, start) {
            break refusal;
        }
    };
    let place = gate.place(&Ask::new(start), (Monotonic::ORIGIN, 0.0), Some(refusal.at), start).0.unwrap();
    let _ = view(&gate, start.after(ms(100)));
    drop(place);
    close_to(pace(&gate, start.after(secs(3))), before * 2.0_f64.sqrt());
}

#[test]
fn a_refusal_says_when_its_turn_comes_at_the_present_pace() {
    let (gate, start) = learned(secs(1), ms(10));
    let _ = served(&gate, start, ms(1));
    let refusal = refused(&gate, start.after(ms(1)));
    assert_eq!(refusal.cause, RefusalCause::Recovering);
    let turn = refusal.retry_at.unwrap();
    assert!(turn > start.after(ms(1)) && turn < start.after(ms(13)), "{turn:?}");
    let _ = go(&gate, turn);
}

#[test]
fn it_ends_when_nobody_had_to_wait_for_ten_seconds() {
    let gate = gate();
    let start = recovering(&gate, secs(1), at(0.0));
    assert_eq!(phase(&gate, start.after(ms(9_999))), Phase::Recovering);
    assert_eq!(phase(&gate, start.after(secs(10))), Phase::Open);
}

#[test]
fn it_ends_when_nobody_had_to_wait_for_twice_the_last_cooldown() {
    let gate = gate();
    let start = recovering(&gate, secs(60), at(0.0));
    assert_eq!(phase(&gate, start.after(ms(119_999))), Phase::Recovering);
    assert_eq!(phase(&gate, start.after(secs(120))), Phase::Open);
}

#[test]
fn a_refused_caller_puts_its_end_off() {
    let (gate, start) = learned(secs(1), ms(10));
    let _ = served(&gate, start, secs(5));
    assert_eq!(phase(&gate, start.after(ms(14_900))), Phase::Recovering);
    assert_eq!(phase(&gate, start.after(secs(15))), Phase::Open);
}

#[test]
fn then_the_pace_is_forgotten() {
    let (gate, start) = learned(secs(1), ms(10));
    assert!(gate.transition(start).pace.is_some());
    let open = start.after(secs(10));
    assert_eq!(phase(&gate, open), Phase::Open);
    assert_eq!(gate.transition(open).pace, None);
    for _ in 0..1_000 {
        let _ = go(&gate, open);
    }
}

#[test]
fn callers_are_served_as_their_logical_requests_entered_interactive_first() {
    let (gate, start) = learned(secs(1), ms(10));
    let _ = served(&gate, start, ms(1));
    let ask = |seconds: f64, priority| Ask::new(at(seconds)).priority(priority);
    let asks = [
        ask(9.0, Priority::Background),
        ask(9.6, Priority::Interactive),
        ask(8.0, Priority::Background),
        ask(9.5, Priority::Interactive),
    ];
    let mut waiting: Vec<_> = asks.iter().map(|ask| Waiting::park(&gate, ask, start)).collect();
    let mut order = Vec::new();
    for millisecond in 0..200 {
        let now = start.after(ms(millisecond));
        for (i, waiting) in waiting.iter_mut().enumerate() {
            if !order.contains(&i)
                && let forbear_core::gate::Turn::Ask(grant) = waiting.turn(now)
            {
                let _ = go_as(&gate, &with_grant(asks[i], grant.as_ref()), now);
                order.push(i);
            }
        }
    }
    assert_eq!(order, [3, 1, 2, 0]);
}

#[test]
fn one_that_entered_earlier_goes_before_those_that_wait() {
    let (gate, start) = learned(secs(1), ms(10));
    let _ = served(&gate, start, ms(1));
    let mut waiting = Waiting::park(&gate, &Ask::new(start), start);
    let token = waiting.sleeps(start);
    assert_eq!(refused_as(&gate, &Ask::new(start.after(ms(1))), token).cause, RefusalCause::Recovering);
    let _ = go_as(&gate, &waited(Ask::new(start.before(secs(3)))), token);
}

#[test]
fn a_caller_that_waited_with_too_little_budget_is_refused_not_sent() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(1)), at(0.0));
    let probe = go(&gate, at(1.0));
    let start = at(1.2);
    let _ = good(&gate, &probe, start);
    let ask = Ask::new(start);
    let refusal = refused_as(&gate, &waited(ask.deadline(start.after(ms(199)))), start);
    assert_eq!((refusal.cause, refusal.waitable), (RefusalCause::TooLate, false));
    let _ = go_as(&gate, &waited(ask.deadline(start.after(ms(200)))), start);
}

#[test]
fn four_mean_deviations_must_be_left_too() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(1)), at(0.0));
    let probe = go(&gate, at(1.0));
    let _ = good(&gate, &probe, at(1.2));
    let next = go(&gate, at(1.3));
    let _ = good(&gate, &next, at(1.9));
    // The mean is 250 ms, the mean deviation 100 ms.
    let (now, ask) = (at(3.0), Ask::new(at(2.0)));
    assert_eq!(
        refused_as(&gate, &waited(ask.deadline(now.after(ms(649)))), now).cause,
        RefusalCause::TooLate
    );
    let _ = go_as(&gate, &waited(ask.deadline(now.after(ms(651)))), now);
}

#[test]
fn one_that_has_not_waited_is_always_sent() {
    let (gate, start) = learned(secs(1), ms(100));
    let _ = go_as(&gate, &Ask::new(start).deadline(start.after(ms(1))), start);
}

#[test]
fn waiting_here_is_waiting() {
    let (gate, start) = learned(secs(1), ms(100));
    let _ = served(&gate, start, ms(1));
    let ask = Ask::new(start).deadline(start.after(ms(50)));
    let mut waiting = Waiting::park(&gate, &ask, start);
    let turn = waiting.sleeps(start);
    assert_eq!(waiting.turned_away(turn).cause, RefusalCause::TooLate);
}

#[test]
fn a_place_after_the_deadline_is_refused_at_once_with_a_time() {
    let (gate, start) = learned(secs(1), ms(10));
    let _ = served(&gate, start, ms(1));
    let ask = Ask::new(start).deadline(start.after(ms(1_000)));
    let mut waiting = Vec::new();
    let refusal = loop {
        match Waiting::try_park(&gate, &ask, 0.0, start) {
            Ok(place) => waiting.push(place),
            Err(refusal) => break refusal,
        }
    };
    assert!((85..=95).contains(&waiting.len()), "{} places in a second at 90 a second", waiting.len());
    assert_eq!(refusal.cause, RefusalCause::Recovering);
    assert!(refusal.retry_at.unwrap() >= start.after(ms(1_000)));
}

#[test]
fn a_verdict_refuses_at_once_those_whose_place_is_too_late() {
    let gate = gate();
    for i in 0..50 {
        let ticket = go(&gate, at(0.1 * f64::from(i)));
        let _ = good(&gate, &ticket, at(0.1 * f64::from(i)));
    }
    let until = strike(&gate, &throttled().delay(secs(1)), at(5.0)).retry_at.unwrap();
    let mut waiting: Vec<_> =
        (0..30).map(|_| Waiting::park(&gate, &Ask::new(at(5.5)).deadline(at(8.0)), at(5.5))).collect();
    for waiting in &mut waiting {
        let _ = waiting.sleeps(at(5.5));
    }
    let probe = go(&gate, until);
    let _ = good(&gate, &probe, until);
    let mut turned_away = 0;
    for waiting in waiting.iter_mut().filter(|waiting| waiting.stirs(until)) {
        if let forbear_core::gate::Turn::Refused(refusal) = waiting.turn(until) {
            assert_eq!(refusal.cause, RefusalCause::Recovering);
            turned_away += 1;
        }
    }
    assert!((8..=15).contains(&turned_away), "{turned_away}: about 19 of 30 fit into 2 s at 9 a second");
}

#[test]
fn a_token_that_was_not_used_is_given_back() {
    let (gate, start) = learned(secs(1), ms(10));
    let tickets: Vec<_> = (0..4).map(|_| go(&gate, start)).collect();
    let _ = refused(&gate, start);
    let _ = not_sent(&gate, &tickets[0], start);
    let _ = go(&gate, start);
    let mut waiting = Waiting::park(&gate, &Ask::new(start), start);
    let turn = waiting.sleeps(start);
    drop(waiting.granted(turn));
    let _ = go(&gate, turn);
    let _ = refused(&gate, turn);
}

#[test]
fn a_strike_ends_it() {
    let (gate, start) = learned(secs(1), ms(10));
    let ticket = go(&gate, start);
    let mut waiting = Waiting::park(&gate, &Ask::new(start), start);
    let grant = waiting.granted(start);
    let until = struck(bad(&gate, &ticket, &throttled().delay(secs(1)), start)).retry_at.unwrap();
    let refusal = refused_as(&gate, &with_grant(Ask::new(start), grant.as_ref()), start);
    assert_eq!((refusal.cause, refusal.retry_at), (RefusalCause::Cooling, Some(until)));
}

#[test]
fn a_look_for_idle_families_takes_no_news_away() {
    let gate = gate();
    let until = strike(&gate, &throttled().delay(secs(5)), at(0.0)).retry_at.unwrap();
    let _probe = go(&gate, until);
    let accepted = until.after(secs(1));
    assert!(!gate.is_idle(accepted));
    let told = gate.view(accepted).1;
    assert!(matches!(told[..], [Event::Recovery { .. }]), "{told:?}");
}

#[test]
fn a_token_is_given_back_only_by_who_took_it() {
    let gate = gate();
    let start = recovering(&gate, secs(1), at(0.0));
    let of_before = go(&gate, start);
    let until = strike(&gate, &throttled().delay(secs(1)), start).retry_at.unwrap();
    let probe = go(&gate, until);
    let now = until.after(secs(1));
    assert_eq!(phase(&gate, now), Phase::Recovering, "it was not refused");
    while let Decision::Go(_) = decide(&gate, now) {}
    for ticket in [of_before, probe] {
        let _ = not_sent(&gate, &ticket, now);
        assert_eq!(refused(&gate, now).cause, RefusalCause::Recovering);
    }
}
