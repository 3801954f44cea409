//! "w is learned": attempts sent per second since the first of the generation.

use forbear_core::gate::Gate;
use forbear_core::time::Monotonic;

use super::support::*;

/// Sends `rate` attempts a second from `from` to `to` seconds, all accepted.
fn serve(gate: &Gate, from: u32, to: u32, rate: u32) {
    for second in from..to {
        for i in 0..rate {
            let now = at(f64::from(second) + f64::from(i) / f64::from(rate));
            let ticket = go(gate, now);
            let _ = good(gate, &ticket, now);
        }
    }
}

/// The pace after a strike at `now`.
fn learned(gate: &Gate, now: Monotonic) -> f64 {
    let _ = strike(gate, &throttled().delay(secs(1)), now);
    gate.transition(now).pace.expect("a learned pace")
}

#[track_caller]
fn close_to(pace: f64, expected: f64) {
    assert!((pace - expected).abs() <= expected * 0.03, "{pace} is not close to {expected}");
}

#[test]
fn it_is_the_rate_since_the_first_of_the_generation_over_at_least_a_second() {
    let gate = gate();
    for _ in 0..20 {
        let ticket = go(&gate, at(0.0));
        let _ = good(&gate, &ticket, at(0.0));
    }
    close_to(learned(&gate, at(0.2)), 21.0);
}

#[test]
fn a_young_generation_is_measured_over_its_own_age() {
    let gate = gate();
    serve(&gate, 0, 4, 50);
    close_to(learned(&gate, at(4.0)), 50.0);
}

#[test]
fn it_is_the_last_ten_seconds_where_they_were_busier() {
    let gate = gate();
    serve(&gate, 0, 90, 10);
    serve(&gate, 90, 100, 100);
    close_to(learned(&gate, at(100.0)), 100.0);
}

#[test]
fn it_is_the_last_minute_where_that_was_busier() {
    let gate = gate();
    serve(&gate, 0, 50, 60);
    serve(&gate, 50, 100, 6);
    close_to(learned(&gate, at(99.99)), (10.0 * 60.0 + 50.0 * 6.0) / 60.0);
}

#[test]
fn blind_strikes_leave_it_as_it_was() {
    let gate = gate();
    serve(&gate, 0, 5, 50);
    let first = learned(&gate, at(5.0));
    let _ = strike(&gate, &throttled().delay(secs(1)), at(6.0));
    assert_eq!(gate.transition(at(6.0)).pace, Some(first));
}

#[test]
fn attempts_of_an_older_generation_do_not_count() {
    let gate = gate();
    serve(&gate, 0, 5, 100);
    let _ = strike(&gate, &throttled().delay(secs(1)), at(5.0));
    let probe = go(&gate, at(6.0));
    let _ = good(&gate, &probe, at(6.0));
    close_to(learned(&gate, at(6.5)), 2.0);
}
