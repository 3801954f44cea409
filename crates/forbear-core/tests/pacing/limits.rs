//! Never more than N in any window, never closer than the gap, never more in flight.

use std::time::Duration;

use forbear_core::pacing::{Pacing, RetryQuota};
use forbear_core::time::Monotonic;
use proptest::prelude::*;

use crate::simulation::{Habits, Sent, Simulated, nanos, simulate};
use crate::support::{ENTRY, at, goes, millis_of, pacer, refused};

/// The most in any span of this length, both ends included, by looking at every span that ends with an attempt.
fn most_within(sent: &[Sent], per: Duration) -> u64 {
    let (mut first, mut within, mut most) = (0, 0_u64, 0);
    for last in sent {
        within += u64::from(last.cost);
        while sent[first].at + nanos(per) < last.at {
            within -= u64::from(sent[first].cost);
            first += 1;
        }
        most = most.max(within);
    }
    most
}

fn least_gap(sent: &[Sent]) -> u64 {
    sent.windows(2).map(|two| two[1].at - two[0].at).min().unwrap_or(u64::MAX)
}

fn habits() -> impl Strategy<Value = Habits> {
    let shares = (0..30_u64, 0..40_u64, prop_oneof![Just(0_u64), 0..30_u64], 0..60_u64);
    (1..=200_usize, (0..=1_u32, 1..=5_u32), 0..=20_u64, shares, 0..=5_u64, 0..400_u64, any::<u64>()).prop_map(
        |(
            callers,
            (least_cost, most_cost),
            late,
            (cancel, give_back, hold, background),
            names,
            takes,
            seed,
        )| Habits {
            callers,
            least_cost,
            most_cost,
            late: millis_of(late),
            cancel,
            give_back,
            hold,
            background,
            names,
            takes: millis_of(takes),
            seed,
        },
    )
}

fn hold_to(pacing: &Pacing, limits: &Limits, habits: Habits) -> Result<Simulated, TestCaseError> {
    let simulated = simulate(pacing, habits, Duration::from_secs(10));
    let sent = &simulated.sent;
    prop_assert!(!sent.is_empty());
    for (most, per) in &limits.windows {
        let found = most_within(sent, *per);
        prop_assert!(found <= u64::from(*most), "{} of {} in {:?}", found, most, per);
    }
    prop_assert!(least_gap(sent) >= nanos(limits.gap), "{}", least_gap(sent));
    if let Some(most) = limits.in_flight {
        prop_assert!(simulated.most_in_flight <= most as usize);
    }
    let view = simulated.pacer.view(at(60_000));
    prop_assert_eq!((view.queued, view.in_flight.unwrap_or(0)), (0, 0));
    Ok(simulated)
}

#[derive(Debug, Clone)]
struct Limits {
    gap: Duration,
    windows: Vec<(u32, Duration)>,
    in_flight: Option<u32>,
}

impl Limits {
    fn pacing(&self) -> Pacing {
        let pacing = Pacing::new().gap(self.gap);
        let pacing = self.windows.iter().fold(pacing, |pacing, (most, per)| pacing.at_most(*most, *per));
        self.in_flight.map_or_else(|| pacing.clone(), |most| pacing.clone().in_flight(most))
    }
}

fn limits() -> impl Strategy<Value = Limits> {
    let gap = prop_oneof![Just(0), 10..=200_u64];
    // Every attempt costs at most 5, and fits.
    let window = prop_oneof![(5..=60_u32, 50..=3_000_u64), (1_100..=3_000_u32, 200..=3_000_u64)];
    (gap, prop::collection::vec(window, 1..4), prop::option::of(1..=10_u32)).prop_map(
        |(gap, windows, in_flight)| Limits {
            gap: millis_of(gap),
            windows: windows.into_iter().map(|(most, per)| (most, millis_of(per))).collect(),
            in_flight,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn never_more_than_allowed_in_any_window(limits in limits(), habits in habits()) {
        hold_to(&limits.pacing(), &limits, habits)?;
    }
}

/// A window that is refilled as it goes lets its burst through and what was refilled meanwhile: almost twice as much.
#[test]
fn a_burst_after_a_pause_is_no_more_than_the_limit() {
    let pacer = pacer(&Pacing::new().at_most(10, millis_of(1000)));
    for millis in 0..10 {
        drop(goes(&pacer, &ENTRY, at(900 + 10 * millis)));
    }
    let told = refused(&pacer, &ENTRY.no_queue(), at(1_500));
    assert_eq!(told.retry_at.map(Monotonic::as_nanos), Some(1_900_000_001));
}

/// Above 1,024 attempts are remembered in cells, and none leaves before it should.
#[test]
fn a_large_limit_is_kept_as_well() {
    let pacing = Pacing::new().at_most(3_000, millis_of(3_000));
    let simulated = simulate(&pacing, Habits::eager(200, millis_of(1), 11), Duration::from_secs(12));
    assert_eq!(most_within(&simulated.sent, millis_of(3_000)), 3_000);
}

/// The network brings attempts closer together; the margin is there for it.
#[test]
fn a_margin_is_kept_beside_every_limit() {
    let pacing = Pacing::new().gap(millis_of(50)).at_most(2, millis_of(1000)).margin(millis_of(20));
    let simulated = simulate(&pacing, Habits::eager(3, Duration::ZERO, 7), Duration::from_secs(10));
    assert!(least_gap(&simulated.sent) >= 70_000_000);
    assert_eq!(most_within(&simulated.sent, millis_of(1020)), 2);
}

#[test]
fn what_matters_to_a_pacer_is_said() {
    let gap = || Pacing::new().gap(millis_of(1000));
    let each = Pacing::new().at_most(2, millis_of(1000));
    let quota = RetryQuota::new(1);
    for (pacing, by_part, learns, is_steered) in [
        (gap(), false, false, false),
        (gap().per_partition(each), true, false, false),
        (gap().steered(true), false, true, true),
        (gap().retry_quota(quota), false, true, false),
    ] {
        let pacer = pacer(&pacing);
        let said = (pacer.is_by_part(), pacer.learns(), pacer.is_steered(), pacer.is_plain());
        assert_eq!(said, (by_part, learns, is_steered, !by_part && !learns), "{pacing:?}");
    }
}
