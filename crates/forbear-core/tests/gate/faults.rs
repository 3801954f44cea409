//! Faults that other projects met in public, replayed on the gate.

use std::sync::Barrier;
use std::thread;

use forbear_core::gate::{Ask, Decision, Effect, GateSettings, Phase, Turn};
use forbear_core::signal::Class;

use super::support::*;

/// Public report: `getnora-io/nora#585`. A probe that ended in neither success nor failure kept its slot.
#[test]
fn a_probe_that_ends_in_neither_good_nor_bad_does_not_keep_its_slot() {
    for sent in [true, false] {
        let gate = gate();
        let until = strike(&gate, &throttled().delay(secs(5)), at(0.0)).retry_at.unwrap();
        let mut now = until;
        for _ in 0..20 {
            let probe = go(&gate, now);
            let _ = if sent { neutral(&gate, &probe, now) } else { not_sent(&gate, &probe, now) };
            now = now.after(secs(30));
        }
        let probe = go(&gate, now);
        assert_eq!(good(&gate, &probe, now), Effect::Recovered);
    }
}

/// Public report: `getnora-io/nora#585`. Among the probe's endings is a 404: that is an answer.
#[test]
fn a_probe_that_ends_with_an_answer_of_the_vendor_is_good() {
    let gate = gate();
    let until = strike(&gate, &throttled().delay(secs(5)), at(0.0)).retry_at.unwrap();
    let probe = go(&gate, until);
    assert_eq!(good(&gate, &probe, until), Effect::Recovered);
}

/// Public report: `diegosouzapw/OmniRoute#13836`. A probe that never settled wedged the breaker for six days.
#[test]
fn a_probe_that_never_settles_does_not_wedge_the_gate() {
    for timeout in [ms(100), secs(30)] {
        let gate = gate_with(GateSettings::registered().attempt_timeout(timeout));
        let until = strike(&gate, &throttled().delay(secs(5)), at(0.0)).retry_at.unwrap();
        let _pending_for_ever = go(&gate, until);
        let refused = (0..60).filter(|second| {
            let now = until.after(ms(10)).after(secs(*second));
            matches!(decide(&gate, now), Decision::Refuse(_))
        });
        assert!(refused.count() < 60, "{timeout:?}");
    }
}

/// Public reports: `resilience4j/resilience4j#343`, `xvirobotics/metabot#414`. Half-open let everybody through.
#[test]
fn ten_thousand_asks_at_the_instant_a_cooldown_ends_are_one_attempt() {
    let gate = gate();
    let until = strike(&gate, &throttled().delay(secs(5)), at(0.0)).retry_at.unwrap();
    let start = Barrier::new(8);
    let asked = |thread: u64| {
        let _ = start.wait();
        let ask = |i: u64| match decide(&gate, until.after(ms((thread + i) % 200))) {
            Decision::Go(ticket) => Some(ticket),
            Decision::Refuse(_) => None,
        };
        (0..1_250).filter_map(ask).collect::<Vec<_>>()
    };
    let probes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || asked(i))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(probes.len(), 1);
    assert_eq!(view(&gate, until).refusals, 9_999);
    assert_eq!(good(&gate, &probes[0], until.after(ms(200))), Effect::Recovered);
}

/// Public reports: `resilience4j/resilience4j#343`, `xvirobotics/metabot#414`. The same with callers that wait.
#[test]
fn ten_thousand_waiters_at_the_instant_a_cooldown_ends_are_one_attempt() {
    let gate = gate();
    let until = strike(&gate, &throttled().delay(secs(5)), at(0.0)).retry_at.unwrap();
    let mut waiting: Vec<_> =
        (0..10_000).map(|_| Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0))).collect();
    for waiting in &mut waiting {
        assert_eq!(waiting.sleeps(at(1.0)), until);
    }
    let mut grants = Vec::new();
    for waiting in &mut waiting {
        if let Turn::Ask(grant) = waiting.turn(until) {
            grants.push(grant.expect("the right to probe"));
        }
    }
    assert_eq!(grants.len(), 1);
    assert_eq!(waiting.iter().map(|waiting| waiting.count.woken()).sum::<usize>(), 0, "timers alone");
}

/// Public report: `router-for-me/CLIProxyAPI#5592`. A success that was in flight before the 429 cleared the cool-down.
#[test]
fn a_success_in_flight_before_the_429_clears_nothing() {
    let gate = gate();
    let (a, b) = (go(&gate, at(0.0)), go(&gate, at(0.1)));
    let _ = bad(&gate, &b, &throttled().delay(secs(30)), at(0.2));
    for now in [at(0.3), at(29.0), at(30.0)] {
        let _ = good(&gate, &a, now);
        assert_eq!(gate.observe(&a, forbear_core::gate::Outcome::Good, now).effect, Effect::None);
    }
    assert_eq!(refused(&gate, at(29.9)).retry_at, Some(at(30.2)));
    assert!(go(&gate, at(30.2)).is_probe());
}

/// Public report: `dsx-ai-factory/nv-redfish#211`. A completion from before the trip freed the new probe's slot.
#[test]
fn an_answer_from_before_the_strike_does_not_free_the_probe() {
    let gate = gate();
    let (a, b, c) = (go(&gate, at(0.0)), go(&gate, at(0.0)), go(&gate, at(0.0)));
    let _ = bad(&gate, &b, &throttled().delay(secs(1)), at(0.1));
    let probe = go(&gate, at(1.1));
    for ticket in [&a, &c] {
        let _ = (neutral(&gate, ticket, at(1.2)), good(&gate, ticket, at(1.2)));
        assert_eq!(not_sent(&gate, ticket, at(1.2)), Effect::None);
        let _ = refused(&gate, at(1.2));
    }
    assert_eq!(phase(&gate, at(1.2)), Phase::Probing);
    assert_eq!(good(&gate, &probe, at(1.3)), Effect::Recovered);
}

/// Public reports: `gabrielkoerich/orch#3352`, `diegosouzapw/OmniRoute#8446`. Cool-downs of 42 days.
#[test]
fn a_thousand_429s_in_a_row_never_cool_longer_than_the_cap() {
    let day = secs(86_400);
    for (signal, cap) in [
        (throttled(), minutes(60)),
        (of_class(Class::Overloaded), minutes(5)),
        (of_class(Class::Blocked), minutes(60)),
        (throttled().delay(secs(30)), secs(90)),
        (throttled().delay(std::time::Duration::MAX), day),
        (throttled().delay(std::time::Duration::ZERO), secs(8)),
    ] {
        let gate = gate();
        let mut now = at(0.0);
        for _ in 0..1_000 {
            let strike = strike(&gate, &signal, now);
            assert!(strike.cooldown <= cap && strike.level <= 7, "{strike:?} after {signal:?}");
            now = strike.retry_at.unwrap();
        }
    }
}

/// Public report: `unkeyed/unkey#6568`. Ordinary failures tripped a breaker; forbear is no error-rate breaker.
#[test]
fn errors_never_strike() {
    let gate = gate();
    for i in 0..1_000 {
        let ticket = go(&gate, at(0.001 * f64::from(i)));
        let _ = neutral(&gate, &ticket, at(0.001 * f64::from(i)));
    }
    assert_eq!((phase(&gate, at(2.0)), view(&gate, at(2.0)).strikes), (Phase::Open, 0));
}
