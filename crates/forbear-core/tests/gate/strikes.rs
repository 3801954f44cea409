//! "Strike", "Accepted": what closes a gate, and which way it moves the level.

use forbear_core::gate::{Effect, Phase, TOP_LEVEL};
use forbear_core::signal::{Class, Scope};

use super::support::*;

#[test]
fn a_signal_closes_the_gate_and_names_itself() {
    let gate = gate();
    let strike = strike(&gate, &throttled().delay(secs(5)).reason("too-fast"), at(0.0));
    assert_eq!(strike.retry_at, Some(at(5.0)));
    let refusal = refused(&gate, at(1.0));
    assert_eq!(refusal.retry_at, Some(at(5.0)));
    let struck = refusal.strike.unwrap();
    assert_eq!((struck.signal.reason.as_str(), &*struck.route, struck.at), ("too-fast", ROUTE, at(0.0)));
}

#[test]
fn fifty_concurrent_429s_are_one_strike() {
    let gate = gate();
    let tickets: Vec<_> = (0..50).map(|_| go(&gate, at(0.0))).collect();
    for ticket in &tickets {
        let _ = bad(&gate, ticket, &throttled().delay(secs(5)), at(0.01));
    }
    let view = view(&gate, at(0.02));
    assert_eq!((view.strikes, view.signals, view.level), (1, 50, 1));
    assert_eq!(view.until, Some(at(5.01)));
}

#[test]
fn a_first_attempt_that_is_refused_is_blind() {
    assert!(strike(&gate(), &throttled().delay(secs(1)), at(0.0)).blind);
    assert!(strike(&gate(), &throttled(), at(0.0)).blind);
}

#[test]
fn one_good_answer_makes_a_strike_with_a_delay_informed() {
    let gate = gate();
    let served = go(&gate, at(0.0));
    let _ = good(&gate, &served, at(0.1));
    assert!(!strike(&gate, &throttled().delay(secs(1)), at(0.2)).blind);
}

#[test]
fn without_a_delay_ten_accepted_attempts_make_it_informed() {
    for (accepted, blind) in [(9, true), (10, false)] {
        let gate = gate();
        for i in 0..accepted {
            let ticket = go(&gate, at(0.01 * f64::from(i)));
            let _ = good(&gate, &ticket, at(0.01 * f64::from(i)));
        }
        assert_eq!(strike(&gate, &throttled(), at(0.5)).blind, blind, "{accepted}");
    }
}

#[test]
fn an_attempt_sent_before_the_refused_one_and_not_refused_by_then_is_accepted() {
    let gate = gate();
    let _unanswered = go(&gate, at(0.0));
    let refused = go(&gate, at(0.05));
    assert!(!struck(bad(&gate, &refused, &throttled().delay(secs(1)), at(0.1))).blind);
}

#[test]
fn an_attempt_sent_after_the_refused_one_is_not_accepted_yet() {
    let gate = gate();
    let refused = go(&gate, at(0.0));
    let _sent_after = go(&gate, at(0.05));
    assert!(struck(bad(&gate, &refused, &throttled().delay(secs(1)), at(0.1))).blind);
}

#[test]
fn an_attempt_not_refused_within_the_refusal_window_is_accepted() {
    let gate = gate();
    let refused = go(&gate, at(0.0));
    let _unanswered = go(&gate, at(0.15));
    assert!(!struck(bad(&gate, &refused, &throttled().delay(secs(1)), at(3.0))).blind);
}

#[test]
fn a_refusal_that_took_a_minute_does_not_count_itself_as_accepted() {
    let gate = gate();
    let [refused, neutral_one, neutral_two] = [0.0; 3].map(|seconds| go(&gate, at(seconds)));
    let _ = (neutral(&gate, &neutral_one, at(64.0)), neutral(&gate, &neutral_two, at(64.0)));
    let _just_sent = [64.0; 2].map(|seconds| go(&gate, at(seconds)));
    assert!(struck(bad(&gate, &refused, &throttled().delay(secs(1)), at(64.0))).blind);
}

#[test]
fn a_neutral_answer_is_not_accepted() {
    let gate = gate();
    let timed_out = go(&gate, at(0.0));
    let _ = neutral(&gate, &timed_out, at(0.1));
    assert!(strike(&gate, &throttled().delay(secs(1)), at(0.3)).blind);
}

#[test]
fn an_attempt_that_was_not_sent_is_not_accepted() {
    let gate = gate();
    let dropped = go(&gate, at(0.0));
    let _ = not_sent(&gate, &dropped, at(0.1));
    assert!(strike(&gate, &throttled().delay(secs(1)), at(0.3)).blind);
}

#[test]
fn a_cached_or_request_scope_signal_is_not_accepted_either() {
    let mut cached = throttled().delay(secs(1));
    cached.aged = true;
    for signal in [cached, throttled().scope(Scope::Request)] {
        let gate = gate();
        let ticket = go(&gate, at(0.0));
        let _ = bad(&gate, &ticket, &signal, at(0.1));
        assert!(strike(&gate, &throttled().delay(secs(1)), at(0.3)).blind);
    }
}

#[test]
fn a_good_answer_counts_whichever_way_it_is_observed() {
    let gate = gate();
    let refused = go(&gate, at(0.0));
    let served = go(&gate, at(0.01));
    let _ = gate.observe(&served, forbear_core::gate::Outcome::Good, at(0.02));
    assert!(!struck(bad(&gate, &refused, &throttled().delay(secs(1)), at(0.1))).blind);
}

#[test]
fn blind_strikes_climb_to_the_top_and_no_further() {
    let gate = gate();
    let mut now = at(0.0);
    for expected in [1, 2, 3, 4, 5, 6, 7, 7, 7] {
        let strike = strike(&gate, &throttled().delay(secs(1)), now);
        assert_eq!((strike.level, strike.blind), (expected, true));
        now = strike.retry_at.unwrap();
    }
    assert_eq!(view(&gate, now).level, TOP_LEVEL);
}

#[test]
fn a_strike_after_service_goes_one_rung_down_but_not_below_one() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..3 {
        now = strike(&gate, &throttled().delay(secs(1)), now).retry_at.unwrap();
    }
    for expected in [2, 1, 1] {
        let probe = go(&gate, now);
        let _ = good(&gate, &probe, now);
        let strike = strike(&gate, &throttled().delay(secs(1)), now);
        assert_eq!((strike.level, strike.blind), (expected, false));
        now = strike.retry_at.unwrap();
    }
}

#[test]
fn an_exhausted_quota_and_a_ban_add_one_rung_also_after_service() {
    for class in [Class::Exhausted, Class::Blocked] {
        let gate = gate();
        let mut now = at(0.0);
        for (expected, spacing) in [(1, 1), (2, 2), (3, 4)] {
            for _ in 0..12 {
                let ticket = go(&gate, now);
                let _ = good(&gate, &ticket, now);
                now = now.after(secs(spacing));
            }
            let strike = strike(&gate, &of_class(class), now);
            assert_eq!((strike.level, strike.blind, strike.cooldown), (expected, false, minutes(60)));
            now = strike.retry_at.unwrap();
        }
    }
}

#[test]
fn an_older_signal_extends_a_running_cooldown_by_its_raw_delay() {
    let gate = gate();
    let (old, older) = (go(&gate, at(0.0)), go(&gate, at(0.0)));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let observed = bad(&gate, &old, &throttled().delay(secs(7)), at(1.0));
    assert_eq!((observed.effect, observed.retry_at), (Effect::Extended, Some(at(8.0))));
    let observed = bad(&gate, &older, &throttled().delay(secs(2)), at(2.0));
    assert_eq!((observed.effect, observed.retry_at), (Effect::None, Some(at(8.0))));
    let view = view(&gate, at(2.0));
    assert_eq!((view.level, view.strikes, view.cooldown), (1, 1, secs(8)));
}

#[test]
fn an_older_signal_is_never_stretched_and_never_floored() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let mut now = at(0.0);
    for _ in 0..4 {
        now = strike(&gate, &throttled().delay(secs(5)), now).retry_at.unwrap();
    }
    let struck_at = now;
    let _ = strike(&gate, &throttled().delay(secs(5)), struck_at);
    let observed = bad(&gate, &old, &throttled().delay(secs(30)), struck_at.after(secs(1)));
    assert_eq!(observed.retry_at, Some(struck_at.after(secs(31))));
}

#[test]
fn an_older_signal_without_a_delay_changes_nothing() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let observed = bad(&gate, &old, &throttled(), at(1.0));
    assert_eq!((observed.effect, observed.retry_at), (Effect::None, Some(at(5.0))));
}

#[test]
fn an_older_signal_never_closes_an_open_family() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let now = recovering(&gate, secs(1), at(0.0));
    assert_eq!(bad(&gate, &old, &throttled().delay(secs(60)), now).effect, Effect::None);
    let _ = go(&gate, now);
    let open = now.after(secs(11));
    assert_eq!(phase(&gate, open), Phase::Open);
    assert_eq!(bad(&gate, &old, &throttled().delay(secs(60)), open).effect, Effect::None);
    let _ = go(&gate, open);
}

#[test]
fn an_older_signal_neither_ends_nor_frees_a_probe() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let _probe = go(&gate, at(5.0));
    let _ = bad(&gate, &old, &throttled().delay(secs(60)), at(5.01));
    assert_eq!(phase(&gate, at(5.02)), Phase::Probing);
    let _ = refused(&gate, at(5.02));
}

#[test]
fn request_scope_and_aged_signals_never_strike() {
    let mut cached = throttled().delay(secs(60));
    cached.aged = true;
    for signal in [cached, throttled().delay(secs(60)).scope(Scope::Request)] {
        let gate = gate();
        for i in 0..20 {
            let ticket = go(&gate, at(f64::from(i)));
            assert_eq!(bad(&gate, &ticket, &signal, at(f64::from(i))).effect, Effect::None);
        }
        let view = view(&gate, at(20.0));
        assert_eq!((view.phase, view.strikes, view.level), (Phase::Open, 0, 0));
    }
}

#[test]
fn refusals_never_strike_or_extend() {
    let gate = gate();
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    for i in 0..100 {
        let _ = refused(&gate, at(0.01 * f64::from(i)));
    }
    let view = view(&gate, at(2.0));
    assert_eq!((view.level, view.strikes, view.signals, view.until), (1, 1, 1, Some(at(5.0))));
    assert_eq!(view.refusals, 100);
}

/// As after a redirect that the client followed itself.
#[test]
fn a_signal_of_an_attempt_from_elsewhere_strikes_only_if_it_was_sent_after_the_last_strike() {
    for (sent, effect) in [(0.9, Effect::None), (1.0, Effect::None), (1.001, Effect::Struck)] {
        let gate = gate();
        let _ = strike(&gate, &throttled(), at(1.0));
        let elsewhere = gate.foreign(at(sent));
        assert_eq!(bad(&gate, &elsewhere, &throttled(), at(2.0)).effect, effect, "{sent}");
    }
}
