//! The Retry-After wait sits outside the retry budget and is armed anew for every attempt: 429 with
//! `Retry-After: 300` costs a quarter of an hour inside one call whose timeout says 30 s.

use std::time::Duration;

use forbear::body::Replay;
use forbear::{Budget, BudgetLayer, Error, RetryAfterLayer, Signal, Spent};
use forbear_mock::{MockVendor, Reply, reply};
use forbear_tests::client::{Body, client, cooling, get, get_now, stack};
use forbear_tests::families::{families, family, level};
use forbear_tests::times::{SLACK, assert_at_once, assert_gaps, ms};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt};
use tower_http::follow_redirect::FollowRedirectLayer;

const SECOND: Duration = Duration::from_secs(1);

/// 429 with a delay in milliseconds.
fn limited(millis: u64) -> Reply {
    reply(429).header("retry-after-ms", millis.to_string())
}

#[tokio::test]
async fn a_vendor_that_always_says_429_costs_at_most_the_budget() {
    let mock = MockVendor::start().await.script(limited(400));
    let families = families([family("vendor", [&mock])]);
    let budget = ms(1800);
    let vendor = stack(&families, budget);
    let start = Instant::now();
    let answer = vendor.send(get(mock.url("/chart"))).await.unwrap();
    let wall = start.elapsed();
    assert!(wall <= budget + SLACK, "{wall:?}");
    // The third answer asks for a second, which would end after the budget: it is returned.
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_gaps(&mock.attempts(), &[ms(400), ms(500)]);
}

#[tokio::test]
async fn slow_refusals_cost_at_most_the_budget() {
    let mock = MockVendor::start().await.script(limited(300).delay(ms(400)));
    let families = families([family("vendor", [&mock])]);
    let budget = ms(1000);
    let start = Instant::now();
    let ended = stack(&families, budget).send(get(mock.url("/chart"))).await;
    let wall = start.elapsed();
    assert!((budget..=budget + SLACK).contains(&wall), "{wall:?}");
    // 0.4 s, 0.3 s of waiting, and the second answer would come at 1.1 s.
    match ended {
        Err(Error::BudgetExhausted(exhausted)) => {
            assert_eq!((exhausted.what(), exhausted.attempts()), (Spent::Time, 2));
            assert_eq!(exhausted.last_signal().unwrap().delay.unwrap().duration, ms(300));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn many_callers_of_a_vendor_that_always_says_429_cost_at_most_the_budget_each() {
    let mock = MockVendor::start().await.script(limited(300));
    let families = families([family("vendor", [&mock])]);
    let budget = ms(1500);
    let vendor = stack(&families, budget);
    let calls = (0..40).map(|call| {
        let (vendor, url) = (&vendor, mock.url(&format!("/panel/{call}")));
        async move {
            let start = Instant::now();
            let ended = vendor.send(get(url)).await;
            (start.elapsed(), ended.map(|answer| answer.status()))
        }
    });
    for (wall, ended) in futures_util::future::join_all(calls).await {
        assert!(wall <= budget + SLACK, "{wall:?}");
        assert!(!matches!(ended, Ok(StatusCode::OK) | Err(Error::Client(_))), "{ended:?}");
    }
}

#[tokio::test]
async fn a_wait_that_does_not_fit_returns_at_once_with_the_answer_and_its_full_hint() {
    let body = r#"{"error":"slow down"}"#;
    let mock = MockVendor::start().await.script(reply(429).retry_after(300).json_text(body));
    let families = families([family("vendor", [&mock])]);
    let start = Instant::now();
    let answer = stack(&families, 30 * SECOND).send(get(mock.url("/chart"))).await.unwrap();
    assert_at_once(start);
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers()["retry-after"], "300");
    let signal = answer.extensions().get::<Signal>().unwrap();
    assert_eq!(signal.delay.unwrap().duration, 300 * SECOND);
    assert!(signal.retry_in().unwrap() >= 300 * SECOND - SLACK, "{:?}", signal.retry_in());
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), body);
    // Recorded in full, whatever the budget.
    let left = families.health().family("vendor").unwrap().remaining.unwrap();
    assert!((300 * SECOND - SLACK..=300 * SECOND).contains(&left), "{left:?}");
}

#[tokio::test]
async fn the_earliest_of_nested_budgets_stands() {
    let mock = MockVendor::start().await.script(limited(700));
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, 30 * SECOND);
    let start = Instant::now();
    let mut hurried = get(mock.url("/chart"));
    hurried.extensions_mut().insert(Budget::within(ms(500)));
    assert_eq!(vendor.send(hurried).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    assert_at_once(start);
    mock.assert_attempts(1);
}

#[tokio::test]
async fn the_earliest_deadline_stands_within_one_logical_request() {
    // Two copies of one logical request, as hedging between Budget and RetryAfter sends them. The second is refused
    // 500 ms after the first, and must not push the recorded deadline out.
    let mock = MockVendor::start().await.script([limited(1500), limited(1500).delay(ms(500)), reply(200)]);
    let url = mock.url("/chart");
    let waiting = ServiceBuilder::new().layer(RetryAfterLayer::new()).service(client());
    let hedged = {
        let waiting = waiting.clone();
        tower::service_fn(move |request: Request<Body>| {
            let (one, other) = (waiting.clone(), waiting.clone());
            let (first, second) = (get(request.uri().to_string()), get(request.uri().to_string()));
            async move {
                let copies = (one.oneshot(first), other.oneshot(second));
                let (first, second) = tokio::join!(copies.0, copies.1);
                first.and(second)
            }
        })
    };
    let hedged = ServiceBuilder::new().layer(BudgetLayer::new(30 * SECOND)).service(hedged);
    let logical = tokio::spawn(hedged.oneshot(get(&url)));
    while mock.attempts().len() < 2 {
        tokio::time::sleep(ms(5)).await;
    }
    let refused = mock.attempts()[1].at();
    // Long enough for the second refusal to be there, and for nothing else.
    tokio::time::sleep_until(refused + ms(900)).await;
    let left = cooling(waiting.oneshot(get_now(&url)).await).retry_in().unwrap();
    // 600 ms are left of the first, 1100 ms of the second.
    assert!(left <= ms(950), "{left:?}");
    logical.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_fresh_logical_request_honours_the_recorded_window() {
    let mock = MockVendor::start().await.script([limited(800), reply(200)]);
    let families = families([family("vendor", [&mock])]);
    let vendor = stack(&families, 30 * SECOND);
    vendor.send(get_now(mock.url("/chart"))).await.unwrap();
    let fresh = vendor.send(get(mock.url("/chart"))).await.unwrap();
    assert_eq!(fresh.status(), StatusCode::OK);
    assert_gaps(&mock.attempts(), &[ms(800)]);
}

#[tokio::test]
async fn a_fresh_logical_request_honours_the_recorded_window_without_the_gate() {
    let mock = MockVendor::start().await.script(reply(200)).route("/chart", [limited(800), reply(200)]);
    let vendor = ServiceBuilder::new()
        .layer(BudgetLayer::new(30 * SECOND))
        .layer(RetryAfterLayer::new())
        .service(client());
    let send = |request| vendor.clone().oneshot(request);
    let first = send(get_now(mock.url("/chart"))).await.unwrap();
    assert_eq!(first.status(), StatusCode::TOO_MANY_REQUESTS);

    let start = Instant::now();
    let refused = cooling(send(get_now(mock.url("/chart?again"))).await);
    assert_eq!(refused.reason().as_str(), "retry-after");
    assert!(refused.retry_in().unwrap() <= ms(800));
    let mut hurried = get(mock.url("/chart"));
    hurried.extensions_mut().insert(Budget::within(ms(100)));
    assert_eq!(cooling(send(hurried).await).reason().as_str(), "retry-after");
    // Another URL of the same host is another URL.
    assert_eq!(send(get_now(mock.url("/quote"))).await.unwrap().status(), StatusCode::OK);
    assert_at_once(start);

    assert_eq!(send(get(mock.url("/chart"))).await.unwrap().status(), StatusCode::OK);
    assert_gaps(&mock.attempts_on("/chart"), &[ms(800)]);
}

#[tokio::test]
async fn records_under_the_effective_url() {
    let old = MockVendor::start().await;
    let new = MockVendor::start().await.script(limited(30_000));
    old.set_script(reply(307).header("location", new.url("/new")));
    let redirected = ServiceBuilder::new()
        .layer(BudgetLayer::new(5 * SECOND))
        .layer(FollowRedirectLayer::new())
        .layer(RetryAfterLayer::new())
        .service(client());
    let answer = redirected.clone().oneshot(get(old.url("/old"))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    // The old URL may be called; the one that answered may not, by whatever way.
    let start = Instant::now();
    cooling(redirected.clone().oneshot(get(old.url("/old"))).await);
    cooling(redirected.oneshot(get(new.url("/new"))).await);
    assert_at_once(start);
    old.assert_attempts(2);
    new.assert_attempts(1);
}

#[tokio::test]
async fn records_under_the_effective_url_where_the_client_follows_redirects() {
    let old = MockVendor::start().await;
    let new = MockVendor::start().await.script(limited(30_000));
    old.set_script(reply(307).header("location", new.url("/new")));
    let following = ServiceBuilder::new()
        .map_request(|request: Request<Replay<Body>>| request.map(|_| Full::default()))
        .layer(FollowRedirectLayer::new())
        .service(client::<Body>());
    let families = families([family("old", [&old]), family("new", [&new])]);
    let vendor = forbear::stack(&families).budget(5 * SECOND).service(following);
    let answer = vendor.send(get(old.url("/old"))).await.unwrap();
    assert_eq!(answer.extensions().get::<Signal>().unwrap().family(), Some("new"));
    assert_eq!((level(&families, "old"), level(&families, "new")), (0, 1));
    let start = Instant::now();
    // The family that let the attempt through is open, and its URL not recorded: it is called again.
    old.set_script(reply(200));
    assert_eq!(vendor.send(get(old.url("/old"))).await.unwrap().status(), StatusCode::OK);
    cooling(vendor.send(get(new.url("/new"))).await);
    assert_at_once(start);
    old.assert_attempts(2);
    new.assert_attempts(1);
}
