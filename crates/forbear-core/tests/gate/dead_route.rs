//! A route that is refused again and again while others are accepted.

use forbear_core::gate::{Event, Gate, Observed, Outcome, Phase};
use forbear_core::time::Monotonic;

use crate::support::{at, gate, go, good, phase, refused, secs, throttled};

/// Refuses an attempt on `route`, as a vendor that asks for a second of rest.
fn refuse(gate: &Gate, route: &str, now: Monotonic) -> Observed {
    let signal = throttled().delay(secs(1));
    gate.observe(&go(gate, now), Outcome::Bad(&signal, route), now)
}

/// Accepts an attempt on `route`, and tells of it where it matters, as a layer does.
fn accept(gate: &Gate, route: &str, now: Monotonic) {
    let suspect = gate.has_suspects() && gate.suspect(route).is_some();
    let _ = good(gate, &go(gate, now), now);
    if suspect {
        gate.route_accepted(route);
    }
}

/// Refuses `/dead` three times, with `/well` accepted after each of the first two.
fn kill(gate: &Gate) -> Observed {
    for round in [0.0, 60.0] {
        let observed = refuse(gate, "/dead", at(round));
        assert!(observed.apart.is_none());
        accept(gate, "/well", at(round + 30.0));
    }
    refuse(gate, "/dead", at(120.0))
}

#[test]
fn its_third_refusal_closes_it_alone_and_the_family_is_called_on() {
    let gate = gate();
    assert!(!gate.has_suspects());
    let observed = kill(&gate);
    let apart = observed.apart.expect("it has a gate of its own");
    assert_eq!(apart.partition_label(), Some("route /dead"));
    assert!(matches!(phase(&apart, at(120.0)), Phase::Cooling), "{:?}", phase(&apart, at(120.0)));
    let dead = |event: &&Event| matches!(event, Event::DeadRoute { route } if &**route == "/dead");
    assert_eq!(observed.family_events.iter().chain(&observed.events).filter(dead).count(), 1);
    // The family is as after an operator's clear.
    assert_eq!(crate::support::view(&gate, at(120.0)).level, 0);
    let _ = go(&gate, at(120.0));
    let _ = refused(&apart, at(120.0));
}

#[test]
fn it_is_found_by_its_path_until_it_is_accepted() {
    let gate = gate();
    let apart = kill(&gate).apart.expect("it has a gate of its own");
    let suspect = gate.suspect("/dead").expect("it matters");
    assert!(suspect.gate.is_some_and(|gate| std::sync::Arc::ptr_eq(&gate, &apart)));
    // One bit in 64 tells routes apart, so of a hundred others hardly any is looked at twice.
    let others = (0..100).filter(|number| gate.suspect(&format!("/items/{number}")).is_some());
    assert!(others.clone().count() < 20, "{}", others.count());
    gate.route_accepted("/dead");
    assert!(!gate.has_suspects() && gate.suspect("/dead").is_none());
    assert!(gate.partitions().is_empty());
}

#[test]
fn without_others_accepted_the_family_is_struck_each_time() {
    let gate = gate();
    for round in [0.0, 60.0, 120.0, 180.0] {
        assert!(refuse(&gate, "/only", at(round)).apart.is_none());
        accept(&gate, "/only", at(round + 30.0));
    }
    assert!(refuse(&gate, "/only", at(240.0)).apart.is_none());
    let _ = refused(&gate, at(240.0));
}
