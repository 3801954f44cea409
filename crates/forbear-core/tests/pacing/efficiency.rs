//! What the limits allow does go out.

use std::time::Duration;

use forbear_core::pacing::Pacing;
use proptest::prelude::*;

use crate::simulation::{Habits, nanos, simulate};
use crate::support::millis_of;

const SPAN: Duration = Duration::from_secs(20);
const LATE: Duration = Duration::from_millis(1);

/// When each attempt of cost 1 goes, up to so many, if it goes at the first moment that the limits allow.
fn ideal(attempts: usize, gap: Duration, windows: &[(u32, Duration)]) -> u64 {
    let mut sent: Vec<u64> = Vec::new();
    while sent.len() < attempts {
        let gap = sent.last().map_or(0, |last| last + nanos(gap));
        let windows = windows.iter().map(|(most, per)| {
            let first = sent.len().checked_sub(*most as usize);
            first.map_or(0, |first| sent[first] + nanos(*per))
        });
        sent.push(windows.fold(gap, u64::max));
    }
    sent[attempts - 1]
}

/// What went of what is allowed: the time that so many attempts take at least, and the time that they took.
fn share(gap: Duration, windows: &[(u32, Duration)], habits: Habits) -> f64 {
    let pacing =
        windows.iter().fold(Pacing::new().gap(gap), |pacing, (most, per)| pacing.at_most(*most, *per));
    let sent = simulate(&pacing, habits, SPAN).sent;
    let took = sent[sent.len() - 1].at - sent[0].at;
    assert!(took > nanos(SPAN) / 2, "all went at once");
    ideal(sent.len(), gap, windows) as f64 / took as f64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn of_gaps_from_50_ms_on_98_percent(gap in 50..=200_u64, callers in 1..=200_usize, seed: u64) {
        let share = share(millis_of(gap), &[], Habits::eager(callers, LATE, seed));
        prop_assert!(share >= 0.98, "{}", share);
    }

    #[test]
    fn of_gaps_from_10_ms_on_88_percent(gap in 10..=50_u64, callers in 1..=200_usize, seed: u64) {
        let share = share(millis_of(gap), &[], Habits::eager(callers, LATE, seed));
        prop_assert!(share >= 0.88, "{}", share);
    }

    #[test]
    fn of_windows_98_percent(
        windows in prop::collection::vec((1..=60_u32, 50..=3_000_u64), 1..4),
        callers in 1..=200_usize,
        seed: u64,
    ) {
        let windows: Vec<_> = windows.into_iter().map(|(most, per)| (most, millis_of(per))).collect();
        // As fast as a woken task follows another in the simulation, 20 µs at most.
        prop_assume!(windows.iter().all(|(most, per)| *per / *most > millis_of(1)));
        let share = share(Duration::ZERO, &windows, Habits::eager(callers, LATE, seed));
        prop_assert!(share >= 0.98, "{}", share);
    }

    /// What is refused elsewhere is as if it had never come.
    #[test]
    fn what_is_given_back_costs_no_quota(
        (gap, most, per) in (50..=200_u64, 1..=20_u32, 500..=3_000_u64),
        callers in 1..=200_usize,
        seed: u64,
    ) {
        let habits = Habits { give_back: 50, cancel: 20, ..Habits::eager(callers, LATE, seed) };
        let windows = [(most, millis_of(per))];
        let share = share(millis_of(gap), &windows, habits);
        prop_assert!(share >= 0.98, "{}", share);
    }
}

/// Above 1,024 a window is kept in cells, which leave as the last of their attempts does.
#[test]
fn of_large_windows_98_percent() {
    let habits = Habits::eager(200, Duration::ZERO, 3);
    let share = share(millis_of(1), &[(5_000, Duration::from_secs(6))], habits);
    assert!(share >= 0.98, "{share}");
}

/// Nobody looks again and again: about two looks for each attempt, however many wait.
#[test]
fn who_waits_does_not_poll() {
    let pacing = Pacing::new().gap(millis_of(10));
    for callers in [2, 200] {
        let simulated = simulate(&pacing, Habits::eager(callers, LATE, 5), SPAN);
        let looks = simulated.looks as f64 / simulated.sent.len() as f64;
        assert!(looks < 3.5, "{looks} with {callers}");
    }
}
