//! What an operator is shown of a gate.

use forbear_core::gate::Ask;
use forbear_core::signal::Class;

use super::support::*;

#[test]
fn who_waits_asks_all_the_while() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(60)), at(0.0));
    let asked = |seconds| view(&gate, at(seconds)).asked;
    assert_eq!(asked(1.0), at(0.0));
    let _ = refused(&gate, at(5.0));
    assert_eq!(asked(6.0), at(5.0));
    let waiting = Waiting::park(&gate, &Ask::new(at(7.0)), at(7.0));
    assert_eq!([asked(8.0), asked(50.0)], [at(8.0), at(50.0)]);
    drop(waiting);
    assert_eq!(asked(51.0), at(5.0));
}

#[test]
fn the_top_rung_is_that_of_the_ladder_of_the_last_signals_class() {
    for (class, top) in [(Class::Throttled, 5), (Class::Overloaded, 7), (Class::Exhausted, 5)] {
        let gate = gate();
        let mut now = at(0.0);
        for level in 1..=7 {
            let strike = strike(&gate, &of_class(class), now);
            assert_eq!((strike.level, view(&gate, now).top_rung), (level, level >= top), "{class:?}");
            now = strike.retry_at.unwrap();
        }
    }
}
