//! The scenarios: one row of the table each.

use std::time::Duration;

use forbear::{Families, Family, GateSettings};
use forbear_mock::{Limiter, MockVendor, reply, respond_with};

use crate::figures::Bounds;
use crate::model::{
    Ban, Closed, Concurrency, FromNth, Healthy, NEXT, Outage, Pulse, Sliding, Vendor, Window,
};
use crate::scenario::{Load, Scenario};
use crate::wire::{HOST, PATH};
use crate::{OUT, SECOND, at, seconds};

/// One row: a scenario, its vendor as a mock, and what counts.
pub struct Storm {
    /// One or two characters.
    pub name: &'static str,
    /// What happens, in a few words.
    pub about: &'static str,
    /// Load, and what is known of the vendor.
    pub scenario: Scenario,
    /// The vendor on the wire. Its time runs from the beginning of the run.
    pub mock: fn() -> MockVendor,
    /// How the host is registered with forbear.
    pub registered: Registered,
    /// Which figures are told.
    pub told: Told,
    /// What forbear's layers must reach.
    pub target: Target,
}

/// How the vendor's host is known to forbear.
#[derive(Debug, Clone, Copy)]
pub enum Registered {
    /// A family with the defaults.
    Family,
    /// Nobody named it: a family is made by its first signal.
    Nobody,
    /// A family that believes no delay above this.
    Believing(Duration),
    /// A family, and one of its own for the first route.
    RouteApart,
}

/// Which figures a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Served, 429s, peak.
    Served,
    /// When all calls were done, and 429s.
    AllDone,
    /// The longest call, and 429s.
    Longest,
}

/// What forbear's layers must reach.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// Nothing is promised; the row is there to be looked at.
    None,
    /// All three.
    Bounds(Bounds),
    /// At most so many seconds until all are done.
    AllDone(f64),
    /// At most so many seconds for any call.
    Longest(f64),
}

const fn bounds(served: f64, limited: f64, peak: f64) -> Target {
    Target::Bounds(Bounds { served, limited, peak })
}

impl Storm {
    fn new(name: &'static str, about: &'static str, scenario: Scenario, mock: fn() -> MockVendor) -> Self {
        let (registered, told, target) = (Registered::Family, Told::Served, Target::None);
        Self { name, about, scenario, mock, registered, told, target }
    }

    fn target(self, target: Target) -> Self {
        Self { target, ..self }
    }

    /// The families of one process.
    ///
    /// # Panics
    /// Never: the configuration is valid.
    #[must_use]
    pub fn families(&self) -> Families {
        let family = Family::new(HOST).host(HOST);
        let families = Families::builder();
        let families = match self.registered {
            Registered::Nobody => families,
            Registered::Family => families.family(family),
            Registered::RouteApart => families.family(family).family(Family::new("apart").route(HOST, PATH)),
            Registered::Believing(longest) => {
                families.family(family.gate(GateSettings::registered().max_advertised(longest)))
            }
        };
        families.build().expect("a host and a name of its own")
    }
}

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
            "5,000 calls at once meet a used-up window; 50 per 10 s after it; budget 1,200 s",
            c2,
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
    ]
}

/// A healthy vendor.
pub(crate) fn healthy_mock() -> MockVendor {
    MockVendor::in_process().script(reply(200))
}

/// Two minutes in which every answer is a refusal.
#[must_use]
pub fn a() -> Scenario {
    Scenario {
        recovered: at(180),
        ..Scenario::new(
            || Box::new(Outage::new(at(60), seconds(120), seconds(5), 100)),
            Load::Poisson(vec![(36.0, seconds(300))]),
        )
    }
}

fn a_with(limiter: Limiter) -> MockVendor {
    healthy_mock().limit(limiter.on(PATH))
}

fn a_mock() -> MockVendor {
    let limiter = Limiter::token_bucket(100, SECOND, 100);
    a_with(limiter).outage_between(seconds(60), seconds(180), reply(429).retry_after(5))
}

fn lying_mock() -> MockVendor {
    let lies = respond_with(|attempt| {
        let lies = attempt.number().is_multiple_of(10);
        reply(429).retry_after(if lies { 3600 } else { 5 })
    });
    a_with(Limiter::token_bucket(100, SECOND, 100)).outage_between(seconds(60), seconds(180), lies)
}

fn silent_a_mock() -> MockVendor {
    let limiter = Limiter::token_bucket(100, SECOND, 100).refusal(reply(429));
    a_with(limiter).outage_between(seconds(60), seconds(180), reply(429))
}

/// Three times as much as the vendor allows, then half of it.
#[must_use]
pub fn b(vendor: fn() -> Box<dyn Vendor>) -> Scenario {
    let load = Load::Poisson(vec![(300.0, seconds(60)), (50.0, seconds(60))]);
    Scenario { recovered: at(60), ..Scenario::new(vendor, load) }
}

/// A hundred in each second.
#[must_use]
pub fn fixed() -> Box<dyn Vendor> {
    Box::new(Window::new(100, SECOND))
}

/// A hundred in any second.
#[must_use]
pub fn sliding() -> Box<dyn Vendor> {
    Box::new(Sliding::new(100, SECOND))
}

fn b_mock() -> MockVendor {
    a_with(Limiter::fixed_window(100, SECOND))
}

fn b2_mock() -> MockVendor {
    a_with(Limiter::sliding_window(100, SECOND))
}

fn silent_b() -> Scenario {
    let load = Load::Poisson(vec![(300.0, seconds(60)), (50.0, seconds(240))]);
    Scenario { load, ..b(fixed) }
}

fn silent_b_mock() -> MockVendor {
    a_with(Limiter::fixed_window(100, SECOND).refusal(reply(429)))
}

/// Refusals are quick where answers are slow: to wait for a probe's whole answer costs a fifth, to count answers
/// instead of accepted attempts makes every strike look blind.
#[must_use]
pub fn slow() -> Scenario {
    Scenario { back: seconds(2), ..b(fixed) }
}

fn slow_mock() -> MockVendor {
    let vendor = MockVendor::in_process().script(reply(200).delay(seconds(2) - OUT));
    vendor.limit(Limiter::fixed_window(100, SECOND).on(PATH))
}

/// Many callers with time, 25 of them each millisecond.
#[must_use]
pub fn c2(calls: u32, deadline: Duration) -> (Scenario, fn() -> MockVendor) {
    let scenario = Scenario {
        recovered: at(10),
        deadline,
        ..Scenario::new(
            || Box::new(Window::new(50, seconds(10)).shut(1)),
            Load::Burst(calls, Duration::from_micros(40) * calls),
        )
    };
    (scenario, c2_mock)
}

fn c2_mock() -> MockVendor {
    let used_up = respond_with(|attempt| reply(429).retry_after_wait(seconds(10) - attempt.since()));
    a_with(Limiter::fixed_window(50, seconds(10))).outage_between(Duration::ZERO, seconds(10), used_up)
}

/// Nothing is ever served.
#[must_use]
pub fn d() -> Scenario {
    Scenario::new(|| Box::new(Closed(Some(seconds(300)))), Load::Poisson(vec![(10.0, seconds(120))]))
}

fn d_mock() -> MockVendor {
    MockVendor::in_process().script(reply(429).retry_after(300))
}

/// One call after another.
#[must_use]
pub fn e() -> Scenario {
    Scenario::new(|| Box::new(FromNth::new(39, seconds(5))), Load::OneByOne(40))
}

fn e_mock() -> MockVendor {
    let (mut served, mut until) = (0, Duration::ZERO);
    MockVendor::in_process().script(respond_with(move |attempt| {
        let now = attempt.since();
        if served >= 38 && now < until {
            return reply(429).retry_after_wait(until - now);
        }
        served += 1;
        if served == 38 {
            until = now + NEXT + seconds(5);
        }
        reply(200)
    }))
}

/// A vendor that bans.
#[must_use]
pub fn f2() -> Scenario {
    Scenario {
        recovered: at(600),
        ..Scenario::new(
            || Box::new(Ban::new(Sliding::new(10, SECOND), seconds(600))),
            Load::Poisson(vec![(2.25, seconds(60)), (12.6, seconds(10)), (2.25, seconds(1730))]),
        )
    }
}

fn f2_mock() -> MockVendor {
    a_with(Limiter::sliding_window(10, SECOND).ban(seconds(600)))
}

/// Many processes that know nothing of each other.
#[must_use]
pub fn g() -> Scenario {
    Scenario {
        recovered: at(180),
        replicas: 20,
        ..Scenario::new(
            || Box::new(Window::new(1000, seconds(60))),
            Load::Poisson(vec![(30.0, seconds(180)), (9.0, seconds(600))]),
        )
    }
}

fn g_mock() -> MockVendor {
    a_with(Limiter::fixed_window(1000, seconds(60)))
}

/// Says 1 s or less, and means it.
#[must_use]
pub fn flapping() -> Scenario {
    Scenario::new(|| Box::new(Pulse(SECOND)), Load::Poisson(vec![(20.0, seconds(300))]))
}

fn flapping_mock() -> MockVendor {
    MockVendor::in_process().script(respond_with(|attempt| {
        let now = attempt.since();
        match now.as_secs() % 2 {
            0 => reply(429).retry_after_wait(SECOND - Duration::from_nanos(now.subsec_nanos().into())),
            _ => reply(200),
        }
    }))
}

fn concurrency() -> Scenario {
    Scenario {
        recovered: at(60),
        back: SECOND + OUT,
        ..Scenario::new(
            || Box::new(Concurrency::new(20, SECOND)),
            Load::Poisson(vec![(40.0, seconds(60)), (10.0, seconds(120))]),
        )
    }
}

fn concurrency_mock() -> MockVendor {
    let refusal = reply(429).json_text(r#"{"reason":"inflight_limit"}"#);
    let vendor = MockVendor::in_process().script(reply(200).delay(SECOND));
    vendor.limit(Limiter::concurrency(20).refusal(refusal).on(PATH))
}

fn dead_route() -> Scenario {
    let load = Load::Poisson(vec![(36.0, seconds(300))]);
    Scenario { routes: 10, dead: true, ..Scenario::new(|| Box::new(Healthy), load) }
}

fn dead_route_mock() -> MockVendor {
    healthy_mock().route(PATH, reply(429).retry_after(5))
}

fn quota() -> Scenario {
    Scenario::new(|| Box::new(Window::new(1000, seconds(3600))), Load::Poisson(vec![(1.0, seconds(7200))]))
}

fn quota_mock() -> MockVendor {
    a_with(Limiter::fixed_window(1000, seconds(3600)))
}
