//! "Down": quiet time takes rungs off.

use super::support::*;

#[test]
fn each_quiet_span_of_twice_the_last_cooldown_takes_one_rung() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..4 {
        now = strike(&gate, &throttled().delay(secs(10)), now).retry_at.unwrap();
    }
    let level = |after: u64| view(&gate, now.after(ms(after))).level;
    assert_eq!(view(&gate, now).cooldown, secs(40));
    assert_eq!([level(0), level(79_999), level(80_000), level(159_999)], [4, 4, 3, 3]);
    assert_eq!([level(160_000), level(240_000), level(319_999), level(320_000)], [2, 1, 1, 0]);
    assert_eq!(level(100_000_000), 0);
}

#[test]
fn a_quiet_span_is_at_least_ten_seconds() {
    let gate = gate();
    let until = strike(&gate, &throttled().delay(secs(1)), at(0.0)).retry_at.unwrap();
    assert_eq!(view(&gate, until.after(ms(9_999))).level, 1);
    assert_eq!(view(&gate, until.after(secs(10))).level, 0);
}

#[test]
fn the_span_follows_the_final_length_after_an_extension() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let _ = strike(&gate, &throttled().delay(secs(10)), at(0.0));
    let _ = bad(&gate, &old, &throttled().delay(secs(25)), at(5.0));
    assert_eq!(view(&gate, at(5.0)).cooldown, secs(30));
    assert_eq!(view(&gate, at(30.0 + 59.9)).level, 1);
    assert_eq!(view(&gate, at(30.0 + 60.0)).level, 0);
}

#[test]
fn a_strike_starts_from_the_level_that_quiet_time_left() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..5 {
        now = strike(&gate, &throttled().delay(secs(1)), now).retry_at.unwrap();
    }
    let later = now.after(secs(20)).after(secs(2));
    assert_eq!(view(&gate, later).level, 3);
    let strike = strike(&gate, &throttled().delay(secs(1)), later);
    assert_eq!((strike.level, strike.blind), (4, true));
}

#[test]
fn one_burst_of_good_answers_clears_nothing() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..3 {
        now = strike(&gate, &throttled().delay(secs(1)), now).retry_at.unwrap();
    }
    let probe = go(&gate, now);
    let _ = good(&gate, &probe, now);
    for _ in 0..100 {
        now = now.after(ms(50));
        let ticket = go(&gate, now);
        let _ = good(&gate, &ticket, now);
    }
    assert_eq!(view(&gate, now).level, 3);
}

#[test]
fn nothing_sticks_at_the_top() {
    let gate = gate();
    let mut now = at(0.0);
    for _ in 0..20 {
        now = strike(&gate, &throttled(), now).retry_at.unwrap();
    }
    assert_eq!(view(&gate, now).level, 7);
    assert_eq!(view(&gate, now.after(minutes(2 * 60 * 7))).level, 0);
}
