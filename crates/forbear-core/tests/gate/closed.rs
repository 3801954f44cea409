//! How closed a gate is, for whoever counts in several.

use forbear_core::gate::{Closed, Outcome};

use super::support::*;

#[test]
fn a_gate_is_closed_less_and_less_until_it_is_open() {
    let gate = gate();
    assert_eq!(gate.closed(at(0.0)), Closed::Open);
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    assert_eq!(gate.closed(at(59.0)), Closed::Cooling(at(60.0)));
    // Nobody has looked since.
    assert_eq!(gate.closed(at(60.0)), Closed::Probing);
    let probe = go(&gate, at(60.0));
    assert_eq!(gate.closed(at(60.0)), Closed::Probing);
    let _ = gate.observe(&probe, Outcome::Good, at(60.1));
    assert_eq!(gate.closed(at(60.1)), Closed::Recovering);
    assert_eq!(gate.closed(at(1_000.0)), Closed::Open);
    let ranks = [
        Closed::Open,
        Closed::Recovering,
        Closed::Probing,
        Closed::Cooling(at(1.0)),
        Closed::Cooling(at(2.0)),
    ];
    assert!(ranks.is_sorted());
}

#[test]
fn a_gate_that_is_closed_is_not_paused_for_that() {
    let gate = gate();
    assert!(!gate.is_paused());
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    assert!(!gate.is_open() && !gate.is_paused());
    let _ = gate.pause(operator(), at(1.0));
    assert!(gate.is_paused());
    let _ = gate.resume(operator(), at(2.0));
    assert!(!gate.is_open() && !gate.is_paused());
}
