//! A failure is reported at the line that asked. Alone in its binary, for the panic hook is the process's.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Mutex;
use std::time::Duration;

use forbear_mock::{Limiter, MockVendor, cycle, reply};

static PANICKED_IN: Mutex<Option<String>> = Mutex::new(None);

#[test]
fn every_panic_names_the_file_of_the_caller() {
    set_hook(Box::new(|info| {
        *PANICKED_IN.lock().unwrap() = info.location().map(|location| location.file().to_owned());
    }));
    let vendor = MockVendor::in_process();
    let second = Duration::from_secs(1);
    let cases: [(&str, &dyn Fn()); 29] = [
        ("assert_attempts", &|| vendor.assert_attempts(1)),
        ("assert_attempts_on", &|| vendor.assert_attempts_on("/", 1)),
        ("assert_count", &|| vendor.attempts().assert_count(1)),
        ("assert_gap_at_least", &|| vendor.assert_gap_at_least(second)),
        ("gap_at_least", &|| vendor.attempts().assert_gap_at_least(second)),
        ("gap_at_most", &|| vendor.attempts().assert_gap_at_most(second)),
        ("quiet_between", &|| vendor.attempts().assert_quiet_between(second, 2 * second)),
        ("assert_rate_at_most", &|| vendor.assert_rate_at_most(1, second)),
        ("rate_at_most", &|| vendor.attempts().assert_rate_at_most(1, second)),
        ("script", &|| drop(vendor.clone().script([]))),
        ("route", &|| drop(vendor.clone().route("/", []))),
        ("route path", &|| drop(vendor.clone().route("", reply(200)))),
        ("set_script", &|| vendor.set_script([])),
        ("set_route", &|| vendor.set_route("/", [])),
        ("url", &|| drop(vendor.url("x"))),
        ("reply", &|| drop(reply(99))),
        ("header", &|| drop(reply(200).header("", ""))),
        ("cycle", &|| drop(cycle([]))),
        ("outage", &|| vendor.outage([])),
        ("outage_between", &|| drop(vendor.clone().outage_between(second, second, reply(503)))),
        ("outage_between script", &|| drop(vendor.clone().outage_between(second, 2 * second, []))),
        ("token_bucket", &|| drop(Limiter::token_bucket(0, second, 1))),
        ("token_bucket burst", &|| drop(Limiter::token_bucket(1, second, 0))),
        ("fixed_window", &|| drop(Limiter::fixed_window(0, second))),
        ("sliding_window", &|| drop(Limiter::sliding_window(1, Duration::ZERO))),
        ("concurrency", &|| drop(Limiter::concurrency(0))),
        ("limit on", &|| drop(Limiter::concurrency(1).on("x"))),
        ("slow_body", &|| drop(reply(200).slow_body(0, second))),
        ("retry_after_text", &|| drop(reply(200).retry_after_text("\n"))),
    ];
    let mut elsewhere = Vec::new();
    for (name, case) in cases {
        // No file: it did not panic.
        let passed = catch_unwind(AssertUnwindSafe(case)).is_ok();
        let file = PANICKED_IN.lock().unwrap().take();
        if passed || file.as_deref() != Some(file!()) {
            elsewhere.push((name, file));
        }
    }
    let _ = std::panic::take_hook();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}
