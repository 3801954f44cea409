//! Two families on two sockets.

use std::time::Duration;

use forbear::Operator;
use forbear_mock::{Limiter, MockVendor, reply};
use forbear_tests::families::{families, family};
use tokio::time::Instant;

use crate::support::{refuses, request, sweep, urls};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn ten_thousand_items_of_two_families_with_eight_at_once() {
    let mock = MockVendor::start().await.script(refuses(4000, reply(429).retry_after(1)));
    let other = MockVendor::start().await.script(reply(200));
    let families = families([family("vendor", [&mock]), family("other", [&other])]);
    // So late that the pace it took before is known, and what is left does not take long at that.
    let both = urls(&mock, 5000).zip(urls(&other, 5000)).flat_map(|(one, two)| [one, two]);
    let report = sweep(&families).budget(120 * SECOND).run(both, request).await;
    assert_eq!((report.done().len(), report.failed().len()), (10_000, 0), "{report}");
    // Up to eight were on their way when the one was refused.
    assert!((5001..5009).contains(&mock.attempts().len()), "{}", mock.attempts().len());
    other.assert_attempts(5000);
}

/// A vendor that counts: what it refuses is sent again at a pace that it can serve, and little is refused.
#[tokio::test]
async fn a_vendor_that_counts_a_window_serves_all_and_refuses_little() {
    let limit = Limiter::sliding_window(50, SECOND).refusal_with(|wait| reply(429).retry_after_wait(wait));
    let mock = MockVendor::start().await.limit(limit).script(reply(200));
    let families = families([family("vendor", [&mock])]);
    let report = sweep(&families).budget(60 * SECOND).run(urls(&mock, 150), request).await;
    assert_eq!(report.done().len(), 150, "{report}");
    let refused = mock.attempts().refused().len();
    assert!(refused <= 40, "{refused} of {} attempts", mock.attempts().len());
}

#[tokio::test]
async fn a_paused_family_is_deferred_and_the_other_is_done() {
    let mock = MockVendor::start().await.script(reply(200));
    let other = MockVendor::start().await.script(reply(200));
    let families = families([family("vendor", [&mock]), family("other", [&other])]);
    families.pause("vendor", Operator::new("alice", "contract ended")).unwrap();
    let report =
        sweep(&families).budget(60 * SECOND).run(urls(&mock, 20).chain(urls(&other, 20)), request).await;
    assert_eq!((report.done().len(), report.deferred().len()), (20, 20), "{report}");
    assert!(report.deferred().iter().all(|late| late.reason().as_str() == "paused"));
    mock.assert_attempts(0);
}

/// A vendor that is not there costs its own items alone.
#[tokio::test]
async fn a_vendor_that_breaks_connections_fails_its_items_at_once() {
    let mock = MockVendor::start().await.script(reply(200).reset());
    let other = MockVendor::start().await.script(reply(200));
    let families = families([family("vendor", [&mock]), family("other", [&other])]);
    let start = Instant::now();
    let report =
        sweep(&families).budget(60 * SECOND).run(urls(&mock, 10).chain(urls(&other, 10)), request).await;
    assert_eq!((report.done().len(), report.failed().len()), (10, 10), "{report}");
    assert!(start.elapsed() < 20 * SECOND, "{:?}", start.elapsed());
}

/// What hangs ends with the budget, and the report says so.
#[tokio::test]
async fn a_vendor_that_hangs_costs_the_budget_and_no_more() {
    let mock = MockVendor::start().await.script(reply(200).delay(60 * SECOND));
    let other = MockVendor::start().await.script(reply(200));
    let families = families([family("vendor", [&mock]), family("other", [&other])]);
    let all = urls(&other, 5).chain(urls(&mock, 4)).chain(urls(&other, 5));
    let start = Instant::now();
    let report = sweep(&families).concurrency(4).budget(2 * SECOND).run(all, request).await;
    assert!((2 * SECOND..10 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!((report.failed().len(), report.is_complete()), (4, true), "{report}");
    assert_eq!(report.done().len() + report.deferred().len(), 10, "{report}");
    assert!(report.deferred().iter().all(|late| late.reason().as_str() == "deadline"), "{report}");
}
