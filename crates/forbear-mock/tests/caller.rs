//! A failure is reported at the line that asked. Alone in its binary, for the panic hook is the process's.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Mutex;
use std::time::Duration;

use forbear_mock::{MockVendor, reply};

static PANICKED_IN: Mutex<Option<String>> = Mutex::new(None);

#[test]
fn every_panic_names_the_file_of_the_caller() {
    set_hook(Box::new(|info| {
        *PANICKED_IN.lock().unwrap() = info.location().map(|location| location.file().to_owned());
    }));
    let vendor = MockVendor::in_process();
    let second = Duration::from_secs(1);
    let cases: [(&str, &dyn Fn()); 16] = [
        ("assert_attempts", &|| vendor.assert_attempts(1)),
        ("assert_attempts_on", &|| vendor.assert_attempts_on("/", 1)),
        ("assert_count", &|| vendor.attempts().assert_count(1)),
        ("assert_gap_at_least", &|| vendor.assert_gap_at_least(second)),
        ("gap_at_least", &|| vendor.attempts().assert_gap_at_least(second)),
        ("gap_at_most", &|| vendor.attempts().assert_gap_at_most(second)),
        ("quiet_between", &|| vendor.attempts().assert_quiet_between(second, 2 * second)),
        ("script", &|| drop(vendor.clone().script([]))),
        ("route", &|| drop(vendor.clone().route("/", []))),
        ("route path", &|| drop(vendor.clone().route("", reply(200)))),
        ("set_script", &|| vendor.set_script([])),
        ("set_route", &|| vendor.set_route("/", [])),
        ("url", &|| drop(vendor.url("x"))),
        ("reply", &|| drop(reply(99))),
        ("header", &|| drop(reply(200).header("", ""))),
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
