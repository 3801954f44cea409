//! What each limit admits, over any arrivals.

use proptest::prelude::*;

use super::*;

const NANOSECOND: Duration = Duration::from_nanos(1);

/// Times at which attempts come, one after another, some at the same time.
fn arrivals() -> impl Strategy<Value = Vec<Duration>> {
    let gap = prop_oneof![Just(0), 1..50u64, 0..2_000u64, Just(1_000)];
    prop::collection::vec(gap, 1..100).prop_map(|gaps| {
        let mut now = 0;
        let mut come = |gap| {
            now += gap;
            Duration::from_nanos(now)
        };
        gaps.into_iter().map(&mut come).collect()
    })
}

/// When attempts were admitted. Of every refusal it checks that it names the first moment that admits.
fn admitted(make: impl Fn() -> Limiter, arrivals: &[Duration]) -> Vec<Duration> {
    let mut limiter = make();
    let mut admitted: Vec<Duration> = Vec::new();
    for &now in arrivals {
        let Some(wait) = limiter.wait(now) else {
            limiter.admit(now);
            admitted.push(now);
            continue;
        };
        assert!(!wait.is_zero(), "refused at {now:?} with nothing to wait for");
        let at = |then: Duration| {
            let mut same = make();
            for &past in &admitted {
                assert_eq!(same.wait(past), None, "what was admitted once is admitted again");
                same.admit(past);
            }
            same.wait(then)
        };
        assert_eq!(at(now + wait), None, "refused at {now:?}, and again {wait:?} later, as told");
        assert_eq!(at(now + wait - NANOSECOND), Some(NANOSECOND), "told to wait {wait:?} at {now:?}");
    }
    admitted
}

proptest! {
    #[test]
    fn a_sliding_window_never_holds_more_than_n(n in 1..20u32, window in 1..1_500u64, times in arrivals()) {
        let window = Duration::from_nanos(window);
        let admitted = admitted(|| Limiter::sliding_window(n, window), &times);
        for span in admitted.windows(n as usize + 1) {
            prop_assert!(span[n as usize] - span[0] >= window, "{span:?}");
        }
        // It refuses for no other reason.
        for &at in &times {
            let here = |list: &[Duration]| list.iter().filter(|&&time| time == at).count();
            let held = admitted.iter().filter(|&&time| time <= at && at - time < window).count();
            prop_assert!(here(&admitted) == here(&times) || held == n as usize, "refused at {at:?} with {held} in");
        }
    }

    #[test]
    fn a_fixed_window_holds_n_of_those_that_come(n in 1..20u32, window in 1..1_500u64, times in arrivals()) {
        let per = Duration::from_nanos(window);
        let admitted = admitted(|| Limiter::fixed_window(n, per), &times);
        let index = |time: &Duration| time.as_nanos() / u128::from(window);
        for time in &times {
            let here = |list: &[Duration]| list.iter().filter(|other| index(other) == index(time)).count();
            prop_assert_eq!(here(&admitted), here(&times).min(n as usize));
        }
    }

    #[test]
    fn a_token_bucket_gives_a_burst_and_then_its_rate(
        n in 1..20u32, per in 1..1_500u64, burst in 1..20u32, times in arrivals(),
    ) {
        let duration = Duration::from_nanos(per);
        let admitted = admitted(|| Limiter::token_bucket(n, duration, burst), &times);
        for first in 0..admitted.len() {
            for last in first..admitted.len() {
                let count = (last - first + 1) as u128;
                let span = (admitted[last] - admitted[first]).as_nanos();
                // In whole numbers: count <= burst + span * n / per.
                let allowed = u128::from(burst) * u128::from(per) + span * u128::from(n);
                prop_assert!(count * u128::from(per) <= allowed, "{count} within {span} ns");
            }
        }
    }

    #[test]
    fn places_in_flight_are_never_more_than_n(n in 1..10u32, steps in prop::collection::vec(any::<bool>(), 1..200)) {
        let mut limiter = Limiter::concurrency(n);
        let mut places = Vec::new();
        for arrives in steps {
            if !arrives {
                places.pop();
            } else if limiter.wait(Duration::ZERO).is_none() {
                places.extend(limiter.admit(Duration::ZERO));
                prop_assert!(places.len() <= n as usize);
            } else {
                prop_assert_eq!(places.len(), n as usize);
            }
        }
    }
}

#[test]
fn the_largest_of_everything_neither_panics_nor_overflows() {
    for make in [
        || Limiter::token_bucket(u32::MAX, Duration::MAX, u32::MAX),
        || Limiter::token_bucket(1, Duration::MAX, 1),
        || Limiter::fixed_window(1, Duration::MAX),
        || Limiter::sliding_window(1, Duration::MAX),
    ] {
        let mut limiter = make();
        assert_eq!(limiter.wait(Duration::ZERO), None);
        limiter.admit(Duration::ZERO);
        let wait = limiter.wait(NANOSECOND).unwrap_or_default();
        assert!(wait.is_zero() || wait == Duration::MAX - NANOSECOND);
        let _ = limiter.wait(Duration::MAX);
        limiter.admit(Duration::MAX);
        let _ = limiter.wait(Duration::MAX);
    }
}

#[test]
fn a_third_of_a_second_is_not_rounded_away() {
    let mut limiter = Limiter::token_bucket(3, Duration::from_secs(1), 2);
    let mut now = Duration::ZERO;
    for _ in 0..30_002 {
        now += limiter.wait(now).unwrap_or_default();
        assert_eq!(limiter.wait(now), None);
        limiter.admit(now);
    }
    // Two were in the bucket. What was told too long by a part of a nanosecond counts for the next.
    assert_eq!(now, Duration::from_secs(10_000));
}

#[test]
#[should_panic(expected = "a limit of 0 admits nothing ever")]
fn a_limit_of_nothing_is_refused() {
    let _ = Limiter::sliding_window(0, NANOSECOND);
}

#[test]
#[should_panic(expected = "a limit per 0 seconds is none")]
fn a_window_of_no_length_is_refused() {
    let _ = Limiter::token_bucket(1, Duration::ZERO, 1);
}
