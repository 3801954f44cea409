//! "How long": from an advertised delay and from a ladder.

use std::time::Duration;

use forbear_core::gate::{GateSettings, Ladder};
use forbear_core::signal::{Class, Signal};

use super::support::*;

/// The cool-downs of `strikes` blind strikes in a row with the same signal.
fn ladder_of(settings: GateSettings, signal: &Signal, strikes: usize) -> Vec<Duration> {
    let gate = gate_with(settings);
    let mut now = at(0.0);
    let strike = |_| {
        let strike = strike(&gate, signal, now);
        now = strike.retry_at.unwrap();
        strike.cooldown
    };
    (0..strikes).map(strike).collect()
}

fn registered() -> GateSettings {
    GateSettings::registered()
}

#[test]
fn an_advertised_delay_is_n_n_2n_4n() {
    let cooldowns = ladder_of(registered(), &throttled().delay(secs(10)), 6);
    assert_eq!(cooldowns, [10, 10, 20, 40, 40, 40].map(secs));
}

#[test]
fn the_stretch_adds_at_most_a_minute() {
    let cooldowns = ladder_of(registered(), &throttled().delay(secs(50)), 5);
    assert_eq!(cooldowns, [50, 50, 100, 110, 110].map(secs));
    let cooldowns = ladder_of(registered(), &throttled().delay(secs(300)), 5);
    assert_eq!(cooldowns, [300, 300, 360, 360, 360].map(secs));
}

#[test]
fn an_absolute_time_is_never_stretched() {
    let cooldowns = ladder_of(registered(), &throttled().absolute_delay(secs(10)), 7);
    assert_eq!(cooldowns, [secs(10); 7]);
}

#[test]
fn the_floor_doubles_from_250_ms_to_8_s_also_for_zero() {
    let floors = [250, 500, 1000, 2000, 4000, 8000, 8000, 8000].map(ms);
    for signal in [
        throttled().delay(Duration::ZERO),
        throttled().absolute_delay(Duration::ZERO),
        throttled().delay(ms(1)),
        throttled().absolute_delay(ms(1)),
    ] {
        assert_eq!(ladder_of(registered(), &signal, 8), floors);
    }
}

#[test]
fn an_advertised_delay_is_recorded_as_at_most_a_day_and_kept_as_evidence() {
    let gate = gate();
    let hint = Duration::from_secs(u64::MAX);
    assert_eq!(strike(&gate, &throttled().delay(hint), at(0.0)).cooldown, secs(86_400));
    let struck = refused(&gate, at(1.0)).strike.unwrap();
    assert_eq!(struck.signal.delay.unwrap().duration, hint);
}

#[test]
fn max_advertised_is_a_setting_and_holds_after_the_stretch() {
    let cooldowns = ladder_of(registered().max_advertised(secs(25)), &throttled().delay(secs(20)), 5);
    assert_eq!(cooldowns, [20, 20, 25, 25, 25].map(secs));
    let cooldowns =
        ladder_of(registered().max_advertised(secs(25)), &throttled().absolute_delay(secs(90)), 2);
    assert_eq!(cooldowns, [25, 25].map(secs));
}

#[test]
fn an_older_signal_extends_by_at_most_max_advertised() {
    let gate = gate();
    let old = go(&gate, at(0.0));
    let _ = strike(&gate, &throttled().delay(secs(5)), at(0.0));
    let observed = bad(&gate, &old, &throttled().delay(Duration::MAX), at(1.0));
    assert_eq!(observed.retry_at, Some(at(86_401.0)));
}

#[test]
fn registered_families_cool_for_2_5_15_30_60_minutes_when_throttled() {
    let cooldowns = ladder_of(registered(), &throttled(), 8);
    assert_eq!(cooldowns, [2, 5, 15, 30, 60, 60, 60, 60].map(minutes));
}

#[test]
fn overloaded_vendors_are_left_alone_for_5_s_doubling_to_5_minutes() {
    let cooldowns = ladder_of(registered(), &of_class(Class::Overloaded), 8);
    assert_eq!(cooldowns, [5, 10, 20, 40, 80, 160, 300, 300].map(secs));
}

#[test]
fn automatic_families_use_the_short_ladder_for_every_class() {
    for class in [Class::Throttled, Class::Overloaded] {
        let cooldowns = ladder_of(GateSettings::automatic(), &of_class(class), 8);
        assert_eq!(cooldowns, [5, 10, 20, 40, 80, 160, 300, 300].map(secs));
    }
}

#[test]
fn a_short_ladder_is_read_at_its_last_rung() {
    let settings = registered().throttled_ladder(Ladder::new([1, 3].map(secs)));
    assert_eq!(ladder_of(settings, &throttled(), 4), [1, 3, 3, 3].map(secs));
}

#[test]
fn exhausted_and_blocked_cool_for_an_hour_without_a_delay_and_as_told_with_one() {
    for class in [Class::Exhausted, Class::Blocked] {
        for settings in [registered(), GateSettings::automatic()] {
            assert_eq!(ladder_of(settings.clone(), &of_class(class), 2), [minutes(60); 2]);
            assert_eq!(ladder_of(settings, &of_class(class).delay(secs(30)), 1), [secs(30)]);
        }
    }
}
