//! Vendors that are away for a while.

use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{Limiter, MockBody, MockVendor, cycle, reply};
use http::{Request, Response};
use http_body_util::Empty;
use tokio::time::sleep;
use tower::ServiceExt;

const MS: fn(u64) -> Duration = Duration::from_millis;
const S: fn(u64) -> Duration = Duration::from_secs;

async fn get(vendor: &MockVendor, path: &str) -> Response<MockBody> {
    let request = Request::get(vendor.url(path)).body(Empty::<Bytes>::new()).unwrap();
    vendor.service().oneshot(request).await.unwrap()
}

async fn statuses(vendor: &MockVendor, n: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..n {
        statuses.push(get(vendor, "/").await.status().as_u16());
    }
    statuses
}

#[tokio::test(start_paused = true)]
async fn a_planned_outage_lasts_from_then_until_then() {
    let vendor = MockVendor::in_process()
        .script([reply(201), reply(202)])
        .route("/chart", reply(203))
        .outage_between(S(10), S(20), [reply(503).retry_after(5), reply(500)])
        .outage_between(S(15), S(25), reply(502));
    let mut at = S(0);
    let mut seen = Vec::new();
    for next in [0, 9_999, 10_000, 19_999, 20_000, 24_999, 25_000] {
        sleep(MS(next) - at).await;
        at = MS(next);
        seen.push((statuses(&vendor, 1).await[0], get(&vendor, "/chart").await.status().as_u16()));
    }
    assert_eq!(seen, [(201, 203), (202, 203), (503, 500), (500, 500), (502, 502), (502, 502), (202, 203)]);
    vendor.attempts().refused().assert_count(8);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_switched_on_and_off_and_the_script_goes_on_where_it_stood() {
    let vendor = MockVendor::in_process()
        .script([reply(201), reply(202), reply(203)])
        .limit(Limiter::fixed_window(3, S(60)))
        .outage_between(S(30), S(31), reply(500));
    assert_eq!(statuses(&vendor, 1).await, [201]);
    vendor.outage([reply(503), reply(502)]);
    assert_eq!(statuses(&vendor, 3).await, [503, 502, 502]);
    assert_eq!(get(&vendor, "/any").await.status(), 502);
    vendor.outage(reply(504));
    sleep(S(30)).await;
    assert_eq!(statuses(&vendor, 1).await, [504], "before a planned one");
    vendor.recover();
    assert_eq!(statuses(&vendor, 1).await, [500]);
    sleep(S(1)).await;
    vendor.recover();
    assert_eq!(statuses(&vendor, 3).await, [202, 203, 429], "an outage used up nothing");
    assert_eq!(vendor.attempts().accepted().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_comes_and_goes() {
    let vendor = MockVendor::in_process().script(cycle([reply(200).times(2), reply(503)]));
    assert_eq!(statuses(&vendor, 7).await, [200, 200, 503, 200, 200, 503, 200]);
}

#[tokio::test]
async fn an_outage_on_a_socket_may_be_of_connections() {
    let vendor = MockVendor::start().await.script(reply(200));
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .build_http::<Empty<Bytes>>();
    let get = || client.get(vendor.url("/").parse().unwrap());
    vendor.outage(reply(503).close_before_head());
    get().await.unwrap_err();
    vendor.recover();
    assert_eq!(get().await.unwrap().status(), 200);
    assert!(vendor.attempts()[0].is_refused());
}

#[test]
#[should_panic(expected = "the outage from 2s to 1s is empty: no attempt would meet it")]
fn an_outage_of_no_length_is_refused() {
    let _ = MockVendor::in_process().outage_between(S(2), S(1), reply(503));
}
