//! One limited answer among forty.

use std::time::Duration;

use forbear::Class;
use forbear::sweep::Outcome;
use forbear_mock::{MockVendor, reply};
use forbear_tests::families::{families, family, level};
use forbear_tests::times::{SLACK, assert_at_once, assert_gaps, jitter, ms};
use http_body_util::BodyExt;
use tokio::time::Instant;

use crate::support::{refuses, request, sweep, urls};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// The self-imposed outage threw the whole sweep away.
#[tokio::test]
async fn of_forty_items_whose_39th_is_limited_forty_are_done_where_that_fits() {
    let mock = MockVendor::start().await.script(refuses(39, reply(429).retry_after(1)));
    let families = families([family("vendor", [&mock])]);
    let start = Instant::now();
    let report = sweep(&families).concurrency(1).budget(MINUTE).run(urls(&mock, 40), request).await;
    let took = start.elapsed();
    assert_eq!((report.done().len(), report.is_complete()), (40, true), "{report}");
    assert!(SECOND <= took && took <= SECOND + jitter(SECOND) + 2 * SLACK, "{took:?}");
    let attempts = mock.attempts();
    assert_eq!(attempts.len(), 41);
    assert_eq!((attempts[38].path(), attempts[39].path(), attempts[40].path()), ("/39", "/39", "/40"));
    assert_gaps(&attempts[38..40], &[SECOND]);
}

#[tokio::test]
async fn of_forty_items_whose_39th_is_limited_38_are_done_where_that_does_not_fit() {
    let overloaded = r#"{"details":{"reason":"inflight_limit"}}"#;
    let limited = reply(429).retry_after(90).json_text(overloaded);
    let mock = MockVendor::start().await.script(refuses(39, limited));
    let other = MockVendor::start().await.script(reply(200));
    let families = families([family("vendor", [&mock]), family("other", [&other])]);
    let start = Instant::now();
    let all = urls(&mock, 40).chain(urls(&other, 10));
    let report = sweep(&families).concurrency(1).budget(MINUTE).run(all, request).await;
    assert_at_once(start);
    assert_eq!((report.done().len(), report.failed().len()), (48, 0), "{report}");
    let late: Vec<_> = report.deferred().iter().collect();
    assert_eq!([&late[0].item, &late[1].item], [&mock.url("/39"), &mock.url("/40")]);
    for late in late {
        assert_eq!((late.family(), late.reason().as_str()), (Some("vendor"), "inflight_limit"));
        assert_eq!(late.signal().unwrap().class, Class::Overloaded);
        let left = late.until().unwrap() - start;
        assert!(90 * SECOND <= left && left <= 90 * SECOND + SLACK, "{left:?}");
    }
    // The fortieth was not sent to be refused.
    mock.assert_attempts(39);
    other.assert_attempts(10);
}

/// What is done is handed over, body and all, while others are waited for.
#[tokio::test]
async fn what_is_done_is_handed_over_while_others_are_waited_for() {
    let answer = reply(200).json_text(r#"{"price":7}"#);
    let mock = MockVendor::start().await.script(refuses(1, reply(429).retry_after(2)));
    let other = MockVendor::start().await.script(answer);
    let families = families([family("vendor", [&mock]), family("other", [&other])]);
    let all = urls(&mock, 3).chain(urls(&other, 20));
    let mut outcomes = sweep(&families).concurrency(2).budget(MINUTE).stream(all, request);
    let start = Instant::now();
    for _ in 0..20 {
        let Some(Outcome::Done(done)) = outcomes.next().await else { panic!("not done") };
        if !done.item.starts_with(&other.uri()) {
            continue;
        }
        assert_eq!(done.response.into_body().collect().await.unwrap().to_bytes(), r#"{"price":7}"#);
    }
    assert_at_once(start);
    while let Some(outcome) = outcomes.next().await {
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    }
    assert_eq!(outcomes.progress().done, 23);
}

/// One burst of good answers clears nothing, and partial progress is enough: the level comes down with the sweeps.
#[tokio::test]
async fn the_level_comes_down_although_no_sweep_is_wholly_clean() {
    let limited = || reply(429).header("retry-after-ms", "300");
    let once = [limited(), reply(200).times(38)];
    let mock = MockVendor::start()
        .await
        .script([limited().times(2)].into_iter().chain(once.clone()).chain(once).collect::<Vec<_>>());
    let families = families([family("vendor", [&mock])]);
    let mut levels = Vec::new();
    for _ in 0..3 {
        let report = sweep(&families).concurrency(1).budget(MINUTE).run(urls(&mock, 38), request).await;
        assert_eq!(report.done().len(), 38, "{report}");
        levels.push(level(&families, "vendor"));
    }
    // Three blind strikes, then one after service; none of the sweeps after it meets another.
    assert_eq!(levels[..2], [3, 2], "{levels:?}");
    assert!(levels[2] <= 2, "{levels:?}");
}

/// Azure/go-autorest#214: 429s used up the attempts that faults have.
#[tokio::test]
async fn five_limited_answers_cost_no_attempt() {
    let mock =
        MockVendor::start().await.script([reply(429).header("retry-after-ms", "250").times(5), reply(200)]);
    let families = families([family("vendor", [&mock])]);
    let three = std::num::NonZeroU32::new(3).unwrap();
    let vendor = forbear::stack(&families).attempts(three).service(forbear_tests::client::client());
    let report = forbear::Sweep::new(vendor).budget(MINUTE).run(urls(&mock, 1), request).await;
    assert_eq!((report.done().len(), mock.attempts().len()), (1, 6), "{report}");
    mock.assert_gap_at_least(ms(250));
}
