//! Vendors in trouble: away, coming and going, with a dead route, lying about it. Each as a scenario, and as a mock.

use std::time::Duration;

use forbear_mock::{Limiter, MockVendor, reply, respond_with};

use super::healthy_mock;
use super::limits::limited;
use crate::model::{Closed, FromNth, Healthy, NEXT, Outage, Pulse};
use crate::scenario::{Load, Scenario};
use crate::wire::PATH;
use crate::{SECOND, at, seconds};

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

pub(super) fn a_mock() -> MockVendor {
    let limiter = Limiter::token_bucket(100, SECOND, 100);
    limited(limiter).outage_between(seconds(60), seconds(180), reply(429).retry_after(5))
}

pub(super) fn silent_a_mock() -> MockVendor {
    let limiter = Limiter::token_bucket(100, SECOND, 100).refusal(reply(429));
    limited(limiter).outage_between(seconds(60), seconds(180), reply(429))
}

pub(super) fn lying_mock() -> MockVendor {
    let lies = respond_with(|attempt| {
        let lies = attempt.number().is_multiple_of(10);
        reply(429).retry_after(if lies { 3600 } else { 5 })
    });
    limited(Limiter::token_bucket(100, SECOND, 100)).outage_between(seconds(60), seconds(180), lies)
}

/// Nothing is ever served.
#[must_use]
pub fn d() -> Scenario {
    Scenario::new(|| Box::new(Closed(Some(seconds(300)))), Load::Poisson(vec![(10.0, seconds(120))]))
}

pub(super) fn d_mock() -> MockVendor {
    MockVendor::in_process().script(reply(429).retry_after(300))
}

/// One call after another.
#[must_use]
pub fn e() -> Scenario {
    Scenario::new(|| Box::new(FromNth::new(39, seconds(5))), Load::OneByOne(40))
}

pub(super) fn e_mock() -> MockVendor {
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

/// Says 1 s or less, and means it.
#[must_use]
pub fn flapping() -> Scenario {
    Scenario::new(|| Box::new(Pulse(SECOND)), Load::Poisson(vec![(20.0, seconds(300))]))
}

pub(super) fn flapping_mock() -> MockVendor {
    MockVendor::in_process().script(respond_with(|attempt| {
        let now = attempt.since();
        match now.as_secs() % 2 {
            0 => reply(429).retry_after_wait(SECOND - Duration::from_nanos(now.subsec_nanos().into())),
            _ => reply(200),
        }
    }))
}

pub(super) fn dead_route() -> Scenario {
    let load = Load::Poisson(vec![(36.0, seconds(300))]);
    Scenario { routes: 10, dead: true, ..Scenario::new(|| Box::new(Healthy), load) }
}

pub(super) fn dead_route_mock() -> MockVendor {
    healthy_mock().route(PATH, reply(429).retry_after(5))
}
