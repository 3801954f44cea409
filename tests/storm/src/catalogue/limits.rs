//! Vendors that limit: each as a scenario, and as a mock.

use std::time::Duration;

use forbear_mock::{Limiter, MockVendor, reply, respond_with};

use super::healthy_mock;
use crate::model::{Ban, Concurrency, Sliding, Vendor, Window};
use crate::scenario::{Load, Scenario};
use crate::wire::PATH;
use crate::{OUT, SECOND, at, seconds};

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

/// A vendor that is well but for this limit on its route.
pub(super) fn limited(limiter: Limiter) -> MockVendor {
    healthy_mock().limit(limiter.on(PATH))
}

pub(super) fn b_mock() -> MockVendor {
    limited(Limiter::fixed_window(100, SECOND))
}

pub(super) fn b2_mock() -> MockVendor {
    limited(Limiter::sliding_window(100, SECOND))
}

/// Refusals are quick where answers are slow: to wait for a probe's whole answer costs a fifth, to count answers
/// instead of accepted attempts makes every strike look blind.
#[must_use]
pub fn slow() -> Scenario {
    Scenario { back: seconds(2), ..b(fixed) }
}

pub(super) fn slow_mock() -> MockVendor {
    let vendor = MockVendor::in_process().script(reply(200).delay(seconds(2) - OUT));
    vendor.limit(Limiter::fixed_window(100, SECOND).on(PATH))
}

pub(super) fn silent_b() -> Scenario {
    let load = Load::Poisson(vec![(300.0, seconds(60)), (50.0, seconds(240))]);
    Scenario { load, ..b(fixed) }
}

pub(super) fn silent_b_mock() -> MockVendor {
    limited(Limiter::fixed_window(100, SECOND).refusal(reply(429)))
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

pub(super) fn c2_mock() -> MockVendor {
    let used_up = respond_with(|attempt| reply(429).retry_after_wait(seconds(10) - attempt.since()));
    limited(Limiter::fixed_window(50, seconds(10))).outage_between(Duration::ZERO, seconds(10), used_up)
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

pub(super) fn f2_mock() -> MockVendor {
    limited(Limiter::sliding_window(10, SECOND).ban(seconds(600)))
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

pub(super) fn g_mock() -> MockVendor {
    limited(Limiter::fixed_window(1000, seconds(60)))
}

pub(super) fn concurrency() -> Scenario {
    Scenario {
        recovered: at(60),
        back: SECOND + OUT,
        ..Scenario::new(
            || Box::new(Concurrency::new(20, SECOND)),
            Load::Poisson(vec![(40.0, seconds(60)), (10.0, seconds(120))]),
        )
    }
}

pub(super) fn concurrency_mock() -> MockVendor {
    let refusal = reply(429).json_text(r#"{"reason":"inflight_limit"}"#);
    let vendor = MockVendor::in_process().script(reply(200).delay(SECOND));
    vendor.limit(Limiter::concurrency(20).refusal(refusal).on(PATH))
}

pub(super) fn quota() -> Scenario {
    Scenario::new(|| Box::new(Window::new(1000, seconds(3600))), Load::Poisson(vec![(1.0, seconds(7200))]))
}

pub(super) fn quota_mock() -> MockVendor {
    limited(Limiter::fixed_window(1000, seconds(3600)))
}
