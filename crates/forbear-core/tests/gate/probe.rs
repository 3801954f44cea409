//! "Probe": one attempt goes out when a cool-down ends.

use forbear_core::gate::{Ask, Decision, Effect, GateSettings, Phase, Priority, RefusalCause};
use forbear_core::signal::Scope;
use forbear_core::time::Monotonic;

use super::support::*;

/// A gate struck at 0 s whose cool-down ends at 5 s.
fn struck_once() -> std::sync::Arc<forbear_core::gate::Gate> {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    gate
}

#[test]
fn nothing_goes_out_before_the_deadline_and_one_attempt_at_it() {
    let gate = struck_once();
    let refusal = refused(&gate, at(4.999_999));
    assert_eq!((refusal.cause, refusal.retry_at), (RefusalCause::Cooling, Some(at(5.0))));
    assert!(go(&gate, at(5.0)).is_probe());
    for _ in 0..10 {
        assert_eq!(refused(&gate, at(5.0)).cause, RefusalCause::Probing);
    }
}

#[test]
fn while_probing_others_are_refused_until_the_lease_ends() {
    let gate = struck_once();
    let _probe = go(&gate, at(6.0));
    let refusal = refused(&gate, at(6.1));
    assert_eq!((refusal.cause, refusal.retry_at), (RefusalCause::Probing, Some(at(36.0))));
    assert!(refusal.waitable);
}

#[test]
fn a_good_probe_begins_recovery() {
    let gate = struck_once();
    let probe = go(&gate, at(5.0));
    assert_eq!(good(&gate, &probe, at(5.1)), Effect::Recovered);
    assert_eq!(phase(&gate, at(5.1)), Phase::Recovering);
}

#[test]
fn a_bad_probe_strikes_blind() {
    let gate = struck_once();
    let probe = go(&gate, at(5.0));
    let strike = struck(bad(&gate, &probe, &throttled().delay(secs(7)), at(5.1)));
    assert_eq!((strike.blind, strike.level, strike.retry_at), (true, 2, Some(at(12.1))));
}

#[test]
fn a_probe_that_is_not_refused_within_the_refusal_window_begins_recovery() {
    let gate = struck_once();
    let _pending = go(&gate, at(5.0));
    assert_eq!(phase(&gate, at(5.249)), Phase::Probing);
    assert_eq!(phase(&gate, at(5.25)), Phase::Recovering);
    let _ = go(&gate, at(5.25));
}

#[test]
fn a_refusal_after_that_strikes_as_usual() {
    let gate = struck_once();
    let probe = go(&gate, at(5.0));
    assert_eq!(phase(&gate, at(5.3)), Phase::Recovering);
    let strike = struck(bad(&gate, &probe, &throttled().delay(secs(7)), at(6.0)));
    assert_eq!((strike.level, strike.retry_at), (2, Some(at(13.0))));
}

#[test]
fn after_neutral_probes_the_next_waits_1_2_4_8_16_30_30_s() {
    let gate = struck_once();
    let mut now = at(5.0);
    for gap in [1, 2, 4, 8, 16, 30, 30, 30] {
        let probe = go(&gate, now);
        now = now.after(ms(100));
        assert_eq!(neutral(&gate, &probe, now), Effect::ProbeEnded);
        let next = now.after(secs(gap));
        assert_eq!(refused(&gate, now).retry_at, Some(next));
        assert_eq!(refused(&gate, next.before(ms(1))).retry_at, Some(next));
        now = next;
    }
    assert_eq!(view(&gate, now).level, 0, "quiet time went on");
}

#[test]
fn the_gap_starts_again_after_a_good_verdict_and_after_a_strike() {
    for bad_verdict in [false, true] {
        let gate = struck_once();
        let mut now = at(5.0);
        for gap in [1, 2, 4] {
            let probe = go(&gate, now);
            let _ = neutral(&gate, &probe, now);
            now = now.after(secs(gap));
        }
        let probe = go(&gate, now);
        if !bad_verdict {
            let _ = good(&gate, &probe, now);
        }
        let next = if bad_verdict { probe } else { go(&gate, now) };
        now = struck(bad(&gate, &next, &throttled().delay(secs(5)), now)).retry_at.unwrap();
        let probe = go(&gate, now);
        let _ = neutral(&gate, &probe, now);
        assert_eq!(refused(&gate, now).retry_at, Some(now.after(secs(1))), "{bad_verdict}");
    }
}

#[test]
fn a_lease_that_is_over_before_the_window_is_neutral() {
    let gate = gate_with(GateSettings::registered().attempt_timeout(ms(100)));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let _pending = go(&gate, at(5.0));
    assert_eq!(refused(&gate, at(5.05)).retry_at, Some(at(5.1)));
    assert_eq!(refused(&gate, at(5.5)).retry_at, Some(at(6.1)));
    assert!(go(&gate, at(6.1)).is_probe());
}

#[test]
fn a_late_answer_of_the_same_generation_still_counts() {
    for is_good in [true, false] {
        let gate = gate_with(GateSettings::registered().attempt_timeout(ms(100)));
        let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
        let late = go(&gate, at(5.0));
        let _ = refused(&gate, at(5.2));
        if is_good {
            assert_eq!(good(&gate, &late, at(5.9)), Effect::Recovered);
            assert_eq!(phase(&gate, at(5.9)), Phase::Recovering);
        } else {
            assert_eq!(bad(&gate, &late, &throttled().delay(secs(9)), at(5.9)).effect, Effect::Struck);
        }
    }
}

#[test]
fn a_late_neutral_answer_does_not_free_the_next_probe() {
    let gate = gate_with(GateSettings::registered().attempt_timeout(ms(200)));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let first = go(&gate, at(5.0));
    let _second = go(&gate, at(6.2));
    assert_eq!(neutral(&gate, &first, at(6.25)), Effect::None);
    assert_eq!(not_sent(&gate, &first, at(6.25)), Effect::None);
    assert_eq!(refused(&gate, at(6.25)).retry_at, Some(at(6.4)));
}

#[test]
fn a_lease_dropped_before_anything_was_sent_is_handed_on_without_a_gap() {
    let gate = struck_once();
    for _ in 0..50 {
        let probe = go(&gate, at(5.0));
        assert!(probe.is_probe());
        assert_eq!(not_sent(&gate, &probe, at(5.0)), Effect::ProbeEnded);
    }
    let probe = go(&gate, at(5.0));
    let _ = neutral(&gate, &probe, at(5.0));
    let probe = go(&gate, at(6.0));
    let _ = not_sent(&gate, &probe, at(6.1));
    assert!(go(&gate, at(6.1)).is_probe(), "a gap that was waited for is not waited for again");
}

#[test]
fn a_cached_or_request_scope_signal_is_neutral_for_the_probe() {
    let mut cached = throttled().delay(secs(60));
    cached.aged = true;
    for signal in [cached, throttled().delay(secs(60)).scope(Scope::Request)] {
        let gate = struck_once();
        let probe = go(&gate, at(5.0));
        let observed = bad(&gate, &probe, &signal, at(5.1));
        assert_eq!(observed.effect, Effect::ProbeEnded);
        assert_eq!(refused(&gate, at(5.5)).retry_at, Some(at(6.1)), "no recovery without an accepted probe");
    }
}

#[test]
fn a_caller_that_waited_with_too_little_budget_is_not_the_probe() {
    let gate = struck_once();
    let short = Ask::new(at(4.0)).deadline(at(5.049));
    assert_eq!(refused_as(&gate, &waited(short), at(5.0)).cause, RefusalCause::TooLate);
    assert!(!refused_as(&gate, &waited(short), at(5.0)).waitable);
    let enough = Ask::new(at(4.0)).deadline(at(5.05));
    assert!(go_as(&gate, &waited(enough), at(5.0)).is_probe());
}

#[test]
fn a_caller_that_has_not_waited_may_be_the_probe_whatever_is_left() {
    let gate = struck_once();
    assert!(go_as(&gate, &Ask::new(at(5.0)).deadline(at(5.001)), at(5.0)).is_probe());
}

#[test]
fn a_waiting_interactive_caller_is_the_probe_before_a_background_one() {
    let gate = struck_once();
    let mut interactive = Waiting::park(&gate, &Ask::new(at(2.0)), at(2.0));
    assert_eq!(interactive.sleeps(at(2.0)), at(5.0));
    let neutral_probe = go(&gate, at(5.0));
    let _ = interactive.sleeps(at(5.0));
    let _ = neutral(&gate, &neutral_probe, at(5.0));
    let background = Ask::new(at(1.0)).priority(Priority::Background);
    assert_eq!(refused_as(&gate, &background, at(6.0)).cause, RefusalCause::Probing);
    let grant = interactive.granted(at(6.0));
    assert!(go_as(&gate, &with_grant(Ask::new(at(2.0)), grant.as_ref()), at(6.0)).is_probe());
}

#[test]
fn background_probes_where_nobody_interactive_waits() {
    let gate = struck_once();
    let ask = Ask::new(at(5.0)).priority(Priority::Background);
    assert!(go_as(&gate, &ask, at(5.0)).is_probe());
}

#[test]
fn a_grant_dropped_unused_is_handed_on() {
    let gate = struck_once();
    let mut first = Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0));
    let mut second = Waiting::park(&gate, &Ask::new(at(2.0)), at(2.0));
    let _ = (first.sleeps(at(2.0)), second.sleeps(at(2.0)));
    let grant = first.granted(at(5.0));
    assert_eq!(refused(&gate, at(5.0)).cause, RefusalCause::Probing);
    let _ = second.sleeps(at(5.0));
    let seen = second.count.woken();
    drop(grant);
    assert_eq!(second.count.woken(), seen + 1);
    assert!(second.granted(at(5.1)).is_some());
}

#[test]
fn a_grant_that_nobody_uses_ends_with_the_lease() {
    let gate = struck_once();
    let mut waiting = Waiting::park(&gate, &Ask::new(at(1.0)), at(1.0));
    let _ = waiting.sleeps(at(1.0));
    let grant = waiting.granted(at(5.0));
    let _ = refused(&gate, at(34.9));
    assert!(go(&gate, at(35.0)).is_probe());
    let late = gate.admit(&with_grant(Ask::new(at(1.0)), grant.as_ref()), at(35.0)).0;
    assert!(matches!(late, Decision::Refuse(_)), "an old grant is worth nothing");
}

#[test]
fn the_next_probe_goes_out_at_once_when_nobody_asked_for_long() {
    let gate = struck_once();
    assert!(go(&gate, at(100_000.0)).is_probe());
    assert!(refused(&gate, at(100_000.0)).retry_at > Some(Monotonic::ORIGIN));
}

#[test]
fn a_grant_is_good_for_one_probe_and_frees_none_that_is_out() {
    let gate = struck_once();
    let ask = Ask::new(at(1.0));
    let mut waiting = Waiting::park(&gate, &ask, at(1.0));
    let _ = waiting.sleeps(at(1.0));
    let grant = waiting.granted(at(5.0));
    assert!(go_as(&gate, &with_grant(ask, grant.as_ref()), at(5.0)).is_probe());
    assert_eq!(refused_as(&gate, &with_grant(ask, grant.as_ref()), at(5.1)).cause, RefusalCause::Probing);
    drop(grant);
    assert_eq!(refused(&gate, at(5.1)).cause, RefusalCause::Probing);
}

#[test]
fn a_grant_that_ran_out_is_not_the_next_ones() {
    let gate = struck_once();
    let [(first, mut one), (second, mut other)] = [at(1.0), at(2.0)].map(|entered| {
        let ask = Ask::new(entered);
        let mut waiting = Waiting::park(&gate, &ask, entered);
        let _ = waiting.sleeps(entered);
        (ask, waiting)
    });
    let old = one.granted(at(5.0));
    let new = other.granted(at(35.0));
    let refusal = refused_as(&gate, &with_grant(first, old.as_ref()), at(35.0));
    assert_eq!(refusal.cause, RefusalCause::Probing);
    drop(old);
    assert_eq!(refused(&gate, at(35.1)).cause, RefusalCause::Probing);
    assert!(go_as(&gate, &with_grant(second, new.as_ref()), at(35.1)).is_probe());
}

/// Its level is zero by then.
#[test]
fn a_family_is_not_idle_while_its_probe_is_out() {
    let gate = struck_once();
    assert!(gate.is_idle(at(100.0)));
    let _pending = go(&gate, at(100.0));
    assert!(!gate.is_idle(at(100.0)) && !gate.is_idle(at(129.999)));
    assert!(gate.is_idle(at(130.0)));
}
