//! How clients behave in a storm.

mod call;
mod figures;
mod oracle;
mod scenario;
mod vendor;
mod world;

use std::time::Duration;

use forbear_core::gate::GateSettings;
use forbear_core::time::Monotonic;

use figures::figures;
use scenario::{Load, Scenario};
use vendor::{Ban, Closed, FromNth, Outage, Pulse, Sliding, Window};

/// When every run begins: an hour after the clock's origin.
const START: Monotonic = Monotonic::from_nanos(3_600_000_000_000);
const SECOND: Duration = Duration::from_secs(1);
/// From the caller to the vendor.
const OUT: Duration = Duration::from_millis(25);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(second: u64) -> Monotonic {
    START.after(seconds(second))
}

#[test]
fn a_outage() {
    let scenario = Scenario {
        recovered: at(180),
        ..Scenario::new(
            || Box::new(Outage::new(at(60), seconds(120), seconds(5), 100.0)),
            Load::Poisson(vec![(36.0, seconds(300))]),
        )
    };
    let _ = figures("A outage 120 s", &scenario);
}

#[test]
fn b_three_times_the_limit() {
    let scenario = Scenario {
        recovered: at(60),
        ..Scenario::new(
            || Box::new(Window::new(100, SECOND)),
            Load::Poisson(vec![(300.0, seconds(60)), (50.0, seconds(60))]),
        )
    };
    let _ = figures("B 3x offered, window 100/s", &scenario);
}

#[test]
fn b_sliding() {
    let scenario = Scenario {
        recovered: at(60),
        ..Scenario::new(
            || Box::new(Sliding::new(100, SECOND)),
            Load::Poisson(vec![(300.0, seconds(60)), (50.0, seconds(60))]),
        )
    };
    let _ = figures("B 3x offered, sliding 100/s", &scenario);
}

#[test]
fn c2_burst() {
    let scenario = Scenario {
        recovered: at(10),
        deadline: seconds(1200),
        ..Scenario::new(
            || Box::new(Window { shut: 1, ..Window::new(50, seconds(10)) }),
            Load::Burst(5000, Duration::from_millis(200)),
        )
    };
    let _ = figures("C2 5,000 at once", &scenario);
}

#[test]
fn e_sweep() {
    let scenario = Scenario::new(
        || Box::new(FromNth { nth: 39, lasting: seconds(5), seen: 0, until: None }),
        Load::OneByOne(40),
    );
    let _ = figures("E sweep of 40", &scenario);
}

#[test]
fn f2_ban() {
    let scenario = Scenario {
        recovered: at(600),
        ..Scenario::new(
            || Box::new(Ban { limit: Sliding::new(10, SECOND), ban: seconds(600), until: START }),
            Load::Poisson(vec![(2.25, seconds(60)), (12.6, seconds(10)), (2.25, seconds(1730))]),
        )
    };
    let _ = figures("F2 ban of 600 s", &scenario);
}

#[test]
fn g_twenty_replicas() {
    let scenario = Scenario {
        recovered: at(180),
        replicas: 20,
        ..Scenario::new(
            || Box::new(Window::new(1000, seconds(60))),
            Load::Poisson(vec![(30.0, seconds(180)), (9.0, seconds(600))]),
        )
    };
    let _ = figures("G 20 replicas", &scenario);
}

#[test]
fn d_always_refused() {
    let scenario =
        Scenario::new(|| Box::new(Closed(Some(seconds(300)))), Load::Poisson(vec![(10.0, seconds(120))]));
    let _ = figures("D always 429", &scenario);
}

#[test]
fn slow_answers() {
    let scenario = Scenario {
        recovered: at(60),
        back: seconds(2),
        ..Scenario::new(
            || Box::new(Window::new(100, SECOND)),
            Load::Poisson(vec![(300.0, seconds(60)), (50.0, seconds(60))]),
        )
    };
    let _ = figures("B with answers of 2 s", &scenario);
}

#[test]
fn five_a_minute() {
    let scenario = Scenario {
        recovered: at(600),
        deadline: seconds(150),
        ..Scenario::new(
            || Box::new(Window::new(5, seconds(60))),
            Load::Poisson(vec![(10.0 / 60.0, seconds(1200)), (3.0 / 60.0, seconds(1200))]),
        )
    };
    let _ = figures("five a minute", &scenario);
}

#[test]
fn pulse() {
    let scenario = Scenario::new(|| Box::new(Pulse(SECOND)), Load::Poisson(vec![(20.0, seconds(300))]));
    let _ = figures("1 s throttled, 1 s served", &scenario);
}

#[test]
fn always_without_delay() {
    for (name, settings) in [
        ("no delay, 2 min ladder", GateSettings::registered()),
        ("no delay, 5 s ladder", GateSettings::automatic()),
    ] {
        let scenario = Scenario {
            settings,
            ..Scenario::new(|| Box::new(Closed(None)), Load::Poisson(vec![(2.0, seconds(7200))]))
        };
        let _ = figures(name, &scenario);
    }
}

#[test]
fn frozen() {
    for looks in 1..=6 {
        let scenario = Scenario {
            frozen: (700..705, looks),
            recovered: at(40),
            ..Scenario::new(
                || Box::new(Outage::new(at(30), seconds(10), seconds(5), 100.0)),
                Load::Poisson(vec![(20.0, seconds(120))]),
            )
        };
        let _ = figures(&format!("never polled after {looks}"), &scenario);
    }
}
