//! The refusal window: three times the slowest of the last 8 refusals, 250 ms to 5 s.

use forbear_core::gate::{Gate, Phase};
use forbear_core::time::Monotonic;

use super::support::*;

/// A strike that was refused `took` seconds after it was sent; the end of its cool-down.
fn refused_after(gate: &Gate, took: f64, now: Monotonic) -> Monotonic {
    let ticket = go(gate, now);
    let observed = bad(gate, &ticket, &throttled().delay(secs(1)), now.after(ms((took * 1000.0) as u64)));
    observed.retry_at.unwrap()
}

/// How long the probe sent at `now` goes unanswered until it counts as accepted.
fn window(gate: &Gate, now: Monotonic) -> u64 {
    let _probe = go(gate, now);
    (0..10_000).find(|millis| phase(gate, now.after(ms(*millis))) == Phase::Recovering).unwrap()
}

#[test]
fn it_is_three_times_the_slowest_refusal() {
    for (took, expected) in [(0.0, 250), (0.05, 250), (0.1, 300), (1.0, 3000), (4.0, 5000), (60.0, 5000)] {
        let gate = gate();
        let now = refused_after(&gate, took, at(0.0));
        assert_eq!(window(&gate, now), expected, "{took}");
    }
}

#[test]
fn it_forgets_all_but_the_last_eight() {
    for (quick, expected) in [(7, 3000), (8, 300)] {
        let gate = gate();
        let mut now = refused_after(&gate, 1.0, at(0.0));
        for _ in 0..quick {
            now = refused_after(&gate, 0.1, now);
        }
        assert_eq!(window(&gate, now), expected, "{quick}");
    }
}

#[test]
fn refusals_of_older_attempts_count_too() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let now = refused_after(&gate, 0.0, at(0.0));
    let _ = bad(&gate, &old, &throttled(), at(0.5));
    assert_eq!(window(&gate, now), 1500);
}
