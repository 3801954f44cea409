use forbear::Pacing;

use super::limits::{
    b, b_mock, b2_mock, c2, concurrency, concurrency_mock, f2, f2_mock, fixed, g, g_mock, quota, quota_mock,
    silent_b, silent_b_mock, sliding, slow, slow_mock,
};
use super::trouble::{
    a, a_mock, d, d_mock, dead_route, dead_route_mock, e, e_mock, flapping, flapping_mock, lying_mock,
    silent_a_mock,
};
use super::{Registered, Storm, Target, Told, bounds};
use crate::seconds;

/// All rows, in the order of the table.
#[must_use]
pub fn all() -> Vec<Storm> {
    let (c2, c2_mock) = c2(5000, seconds(1200));
    vec![
        Storm::new("A", "out for 120 s, every answer 429 + 5 s; else a bucket of 100/s; 36/s", a(), a_mock)
            .target(bounds(96.0, 13.2, 166.8)),
        Storm::new("B", "100 per window of 1 s; 300/s for 60 s, then 50/s", b(fixed), b_mock)
            .target(bounds(91.0, 19.2, 121.2)),
        Storm::new("B2", "the same, any second counts", b(sliding), b2_mock)
            .target(bounds(91.0, 19.2, 121.2)),
        Storm::new(
            "C2",
            "5,000 calls within 200 ms meet a used-up window; 50 per 10 s after it; budget 1,200 s",
            c2.clone(),
            c2_mock,
        )
        .target(bounds(99.0, 1.2 * 718.0, 86.4)),
        Storm {
            told: Told::AllDone,
            target: Target::AllDone(7.42),
            ..Storm::new("E", "a sweep of 40, refused from the 39th on for 5 s", e(), e_mock)
        },
        Storm::new(
            "F2",
            "10 in any second, else banned 600 s, anew for each attempt; 2.25/s, 12.6/s for 10 s",
            f2(),
            f2_mock,
        )
        .target(bounds(66.0, 1.2, 6.0)),
        Storm::new(
            "G",
            "20 processes that share nothing; 1,000 per minute; 30/s for 180 s, then 9/s",
            g(),
            g_mock,
        )
        .target(bounds(98.6, 97.2, 48.0)),
        Storm {
            told: Told::Longest,
            target: Target::Longest(0.061),
            ..Storm::new("D", "always 429 + 300 s; 10/s", d(), d_mock)
        },
        Storm::new("S", "B with answers of 2 s", slow(), slow_mock).target(bounds(90.0, 19.2, 121.2)),
        Storm::new("W", "refuses for 1 s, serves for 1 s; 20/s", flapping(), flapping_mock),
        Storm::new(
            "K",
            "20 in flight, answers of 1 s, no `Retry-After`; 40/s for 60 s, then 10/s",
            concurrency(),
            concurrency_mock,
        ),
        Storm::new("N", "A without `Retry-After`", a(), silent_a_mock),
        Storm::new("N2", "B without `Retry-After`, 240 s at 50/s", silent_b(), silent_b_mock),
        Storm {
            registered: Registered::Nobody,
            ..Storm::new("N3", "the same, its host not registered", silent_b(), silent_b_mock)
        },
        Storm::new("R", "one of 10 routes always 429 + 5 s; 36/s", dead_route(), dead_route_mock),
        Storm {
            registered: Registered::RouteApart,
            ..Storm::new("R2", "the same, that route registered as a family", dead_route(), dead_route_mock)
        },
        Storm::new("L", "A; every tenth attempt is told 3,600 s", a(), lying_mock),
        Storm {
            registered: Registered::Believing(seconds(60)),
            ..Storm::new("L2", "the same, no delay above 60 s believed", a(), lying_mock)
        },
        Storm::new("Q", "1,000 an hour; 1/s for two hours", quota(), quota_mock),
        Storm {
            registered: Registered::Paced(|| Pacing::new().at_most(100, seconds(1))),
            target: bounds(99.0, 0.0, 100.0),
            ..Storm::new("B3", "B2, its limit known", b(sliding), b2_mock)
        },
        Storm {
            registered: Registered::Paced(|| Pacing::new().at_most(50, seconds(10))),
            target: bounds(99.0, 60.0, 56.4),
            ..Storm::new("C3", "C2, its limit known", c2, c2_mock)
        },
        Storm {
            registered: Registered::Paced(|| Pacing::new().at_most(10, seconds(1))),
            target: bounds(99.0, 0.0, 10.0),
            ..Storm::new("F3", "F2, its limit known", f2(), f2_mock)
        },
        Storm {
            registered: Registered::Paced(|| Pacing::new().in_flight(20)),
            target: bounds(95.0, 0.0, 24.0),
            ..Storm::new("K2", "K, its limit known", concurrency(), concurrency_mock)
        },
    ]
}
