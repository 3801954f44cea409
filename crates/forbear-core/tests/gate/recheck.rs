//! "`recheck(d)` sends one probe every d within a longer advertised cool-down."

use forbear_core::gate::{Ask, Effect, GateSettings, Phase, RefusalCause};

use super::support::*;

fn rechecking(every: std::time::Duration) -> std::sync::Arc<forbear_core::gate::Gate> {
    gate_with(GateSettings::registered().recheck(every))
}

#[test]
fn one_probe_every_d_within_a_longer_cooldown() {
    let gate = rechecking(secs(10));
    let _ = strike(&gate, &throttled().delay(secs(100)), at(0.0));
    assert_eq!(refused(&gate, at(9.9)).cause, RefusalCause::Cooling);
    let probe = go(&gate, at(10.0));
    assert!(probe.is_probe());
    assert_eq!(refused(&gate, at(10.0)).cause, RefusalCause::Cooling);
    let _ = neutral(&gate, &probe, at(10.1));
    let _ = refused(&gate, at(19.9));
    let probe = go(&gate, at(20.0));
    assert_eq!(good(&gate, &probe, at(20.1)), Effect::Recovered);
    assert_eq!(phase(&gate, at(20.1)), Phase::Recovering);
}

#[test]
fn a_refused_recheck_strikes_and_never_shortens_the_cooldown() {
    let gate = rechecking(secs(10));
    let _ = strike(&gate, &throttled().delay(secs(100)), at(0.0));
    let probe = go(&gate, at(10.0));
    let strike = struck(bad(&gate, &probe, &throttled().delay(secs(5)), at(10.0)));
    assert_eq!(strike.retry_at, Some(at(100.0)));
}

#[test]
fn it_is_off_without_an_advertised_delay() {
    let gate = rechecking(secs(10));
    let _ = strike(&gate, &throttled(), at(0.0));
    let _ = refused(&gate, at(119.0));
    assert!(go(&gate, at(120.0)).is_probe());
}

#[test]
fn a_cooldown_shorter_than_d_ends_at_its_deadline() {
    let gate = rechecking(minutes(10));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    assert!(go(&gate, at(5.0)).is_probe());
}

#[test]
fn the_last_recheck_does_not_put_off_the_deadline() {
    let gate = rechecking(secs(40));
    let _ = strike(&gate, &throttled().delay(secs(100)), at(0.0));
    for now in [40.0, 80.0] {
        let probe = go(&gate, at(now));
        let _ = neutral(&gate, &probe, at(now));
    }
    assert!(go(&gate, at(100.0)).is_probe());
}

#[test]
fn a_recheck_that_was_not_sent_is_handed_on() {
    let gate = rechecking(secs(10));
    let _ = strike(&gate, &throttled().delay(secs(100)), at(0.0));
    let probe = go(&gate, at(10.0));
    let _ = not_sent(&gate, &probe, at(10.0));
    assert!(go(&gate, at(10.0)).is_probe());
}

#[test]
fn one_waiting_caller_is_given_the_recheck() {
    let gate = rechecking(secs(10));
    let _ = strike(&gate, &throttled().delay(secs(100)), at(0.0));
    let ask = Ask::new(at(1.0));
    let mut first = Waiting::park(&gate, &ask, at(1.0));
    let mut second = Waiting::park(&gate, &Ask::new(at(2.0)), at(2.0));
    assert_eq!((first.sleeps(at(2.0)), second.sleeps(at(2.0))), (at(10.0), at(100.0)));
    let grant = first.granted(at(10.0));
    assert!(go_as(&gate, &with_grant(ask, grant.as_ref()), at(10.0)).is_probe());
    assert_eq!(second.sleeps(at(10.0)).max(at(10.0)), second.timer);
}

#[test]
fn an_extension_keeps_the_recheck_and_moves_the_deadline() {
    let gate = rechecking(secs(10));
    let old = go(&gate, at(0.0));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    assert_eq!(bad(&gate, &old, &throttled().delay(secs(50)), at(1.0)).effect, Effect::Extended);
    let _ = refused(&gate, at(9.9));
    let probe = go(&gate, at(10.0));
    let _ = neutral(&gate, &probe, at(10.0));
    assert!(go(&gate, at(51.0)).is_probe() || phase(&gate, at(51.0)) == Phase::Probing);
}

#[test]
fn a_recheck_that_nobody_used_goes_to_the_next_who_waits() {
    let gate = rechecking(secs(10));
    let _ = strike(&gate, &throttled().delay(secs(100)), at(0.0));
    let mut first = Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0));
    let mut second = Waiting::park(&gate, &Ask::new(at(2.0)), at(2.0));
    let _ = (first.sleeps(at(2.0)), second.sleeps(at(2.0)));
    let grant = first.granted(at(10.0));
    let _ = second.sleeps(at(10.0));
    let seen = second.count.woken();
    drop(grant);
    assert_eq!(second.count.woken(), seen + 1);
    assert!(second.granted(at(10.0)).is_some());
}
