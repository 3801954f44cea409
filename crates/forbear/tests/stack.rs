//! The three layers together, in process and under a paused clock.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forbear::{BoxVendor, Error, Families, Family, NoWait, Unknown};
use forbear_mock::{MockVendor, reply};
use http::{Request, StatusCode};
use http_body_util::Full;

const SECOND: Duration = Duration::from_secs(1);

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("http://vendor.test{path}")).body(Full::default()).unwrap()
}

fn families() -> Families {
    Families::builder()
        .family(Family::new("vendor").host("vendor.test"))
        .unknown(Unknown::PerHost)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_429_is_waited_out_and_the_sibling_route_waits_too() {
    let mock =
        MockVendor::in_process().script([reply(200)]).route("/a", [reply(429).retry_after(5), reply(200)]);
    let families = families();
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(mock.service());
    let start = tokio::time::Instant::now();
    let (a, b) = tokio::join!(vendor.send(get("/a")), async {
        tokio::time::sleep(SECOND).await;
        vendor.send(get("/b")).await
    });
    assert_eq!(a.unwrap().status(), StatusCode::OK);
    assert_eq!(b.unwrap().status(), StatusCode::OK);
    let took = start.elapsed();
    assert!((5 * SECOND..7 * SECOND).contains(&took), "{took:?}");
    mock.attempts().assert_quiet_between(Duration::from_millis(1), 5 * SECOND);
    println!("{}", families.health());
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_returns_at_once() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(3600)]);
    let families = families();
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(mock.service());
    let start = tokio::time::Instant::now();
    let first = vendor.send(get("/a")).await.unwrap();
    assert_eq!(first.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(first.extensions().get::<forbear::Signal>().unwrap().delay.unwrap().duration, 3600 * SECOND);
    let second = vendor.send(get("/b")).await.unwrap_err();
    assert!(
        matches!(&second, Error::Cooling(c) if c.family() == "vendor" && c.retry_in() == Some(3600 * SECOND)),
        "{second:?}"
    );
    assert_eq!(start.elapsed(), Duration::ZERO);
    mock.assert_attempts(1);
    assert_eq!(families.health().to_string(), "vendor  cooling 1h00m  429 retry-after  via /a");
    let mut no_wait = get("/c");
    no_wait.extensions_mut().insert(NoWait);
    assert!(matches!(vendor.send(no_wait).await, Err(Error::Cooling(_))));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_on_the_url_that_was_limited_names_its_family() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(3600)]);
    let families = Families::builder()
        .family(Family::new("charts").route("vendor.test", "/chart/{symbol}"))
        .family(Family::new("orders").host("vendor.test"))
        .build()
        .unwrap();
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(mock.service());
    for (path, family) in [("/chart/acme", "charts"), ("/orders", "orders")] {
        assert_eq!(vendor.send(get(path)).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
        let mut no_wait = get(path);
        no_wait.extensions_mut().insert(NoWait);
        for again in [get(path), no_wait] {
            match vendor.send(again).await {
                Err(Error::Cooling(cooling)) => assert_eq!(cooling.family(), family),
                other => panic!("{other:?}"),
            }
        }
    }
    mock.assert_attempts(2);
}

/// What a struct may hold, whatever client it has.
struct Quotes<RB> {
    vendor: BoxVendor<Full<Bytes>, RB>,
}

#[tokio::test(start_paused = true)]
async fn a_vendor_in_a_box_waits_and_cools_as_without_it_and_goes_into_tasks() {
    let mock = MockVendor::in_process()
        .script([reply(200)])
        .route("/a", [reply(429).retry_after(5), reply(200)])
        .route("/b", [reply(429).retry_after(3600)]);
    let families = families();
    let vendor = forbear::stack(&families).budget(30 * SECOND).boxed(mock.service());
    let quotes = Arc::new(Quotes { vendor });
    let tasks = ["/a", "/c"].map(|path| {
        let quotes = Arc::clone(&quotes);
        tokio::spawn(async move { quotes.vendor.send(get(path)).await.unwrap().status() })
    });
    for task in tasks {
        assert_eq!(task.await.unwrap(), StatusCode::OK);
    }
    mock.assert_attempts(3);
    // The box is a service as well.
    let limited = tower::ServiceExt::oneshot(quotes.vendor.clone(), get("/b")).await.unwrap();
    assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
    let refused = quotes.vendor.send(get("/c")).await.unwrap_err();
    assert!(matches!(refused, Error::Cooling(_)), "{refused:?}");
    // Not sent, not waited for: dropping it holds nothing.
    drop(quotes.vendor.send(get("/c")));
    mock.assert_attempts(4);
}

#[cfg(feature = "stale")]
#[tokio::test(start_paused = true)]
async fn a_stack_that_serves_stale_goes_into_a_box_too() {
    let mock = MockVendor::in_process().script([reply(200).header("cache-control", "max-age=60").body("17")]);
    let stack = forbear::stack(&families()).budget(30 * SECOND).stale(forbear::StaleLayer::memory(1 << 20));
    let quotes = Quotes { vendor: BoxVendor::new(stack.service(mock.service())) };
    for _ in 0..2 {
        let answer = quotes.vendor.send(get("/a")).await.unwrap();
        let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
        assert_eq!(body, "17");
    }
    mock.assert_attempts(1);
}
