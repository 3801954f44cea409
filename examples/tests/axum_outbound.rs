//! The axum server waits where it may, and says when to come back where it may not.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use forbear::{Families, Family};
use forbear_examples::axum_outbound::{self, Outbound};
use forbear_mock::{MockVendor, reply};
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

#[tokio::test]
async fn handlers_share_one_stack_and_map_refusals() {
    let seen = axum_outbound::run().await.unwrap();
    let statuses: Vec<_> = seen.iter().map(|seen| (seen.path, seen.status, seen.attempts)).collect();
    let expected = [
        ("/quote/acme", 200, 1),
        ("/quote/busy", 200, 3),
        ("/quote/slow", 504, 4),
        ("/quote/closed", 503, 5),
        ("/quote/acme", 503, 5),
        ("/health", 200, 5),
    ];
    assert_eq!(statuses, expected, "{seen:?}");
    assert_eq!((seen[0].body.as_str(), seen[1].body.as_str()), ("7.25", "8.50"));
    assert!(seen[1].took >= Duration::from_secs(1), "the vendor is left alone as long as it asked: {seen:?}");
    // Far from the server's three seconds.
    assert!((280..2500).contains(&seen[2].took.as_millis()) && seen[2].retry_after.is_none(), "{seen:?}");
    for refused in &seen[3..5] {
        assert!(refused.took < Duration::from_secs(1), "{refused:?}");
        assert!(refused.retry_after.is_some_and(|left| (115..=120).contains(&left)), "{refused:?}");
    }
    assert!(seen[4].body.contains("quotes is not called, retry in"), "{seen:?}");
    assert!(seen[5].body.starts_with("quotes  cooling"), "{seen:?}");
}

/// What a caller names is one symbol, and never another resource of the vendor.
#[tokio::test]
async fn a_symbol_is_not_a_path() {
    let vendor = MockVendor::start().await.script(reply(200));
    let families = Families::builder().build().unwrap();
    let app = axum_outbound::app(Outbound::new(families, vendor.uri(), Duration::from_secs(3)));
    for symbol in ["..%2Fadmin", "a%3Fall=1", "a%2Fb", "a%23b", "a%20b", "%C3%A9", ".."] {
        let request = Request::get(format!("/quote/{symbol}")).body(Body::empty()).unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), 400, "{symbol}");
    }
    vendor.assert_attempts(0);
    let request = Request::get("/quote/BRK.B").body(Body::empty()).unwrap();
    assert_eq!(app.oneshot(request).await.unwrap().status(), 200);
    vendor.assert_attempts_on("/BRK.B", 1);
}

/// A server that is told to stop waits for no vendor: who would have waited half a minute is answered at once, what is in
/// flight is answered in its own time, and the server ends with the last of them.
#[tokio::test]
async fn a_server_that_stops_ends_its_waits_and_answers_what_is_in_flight() {
    let vendor = MockVendor::start()
        .await
        .script(reply(429).retry_after(30))
        .route("/slow", reply(200).delay(Duration::from_millis(500)).body("7.25"));
    let families =
        Families::builder().family(Family::new("quotes").host(vendor.authority())).build().unwrap();
    let outbound = Outbound::new(families.clone(), vendor.uri(), Duration::from_secs(120));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(axum_outbound::serve(listener, outbound, async {
        let _ = stopped.await;
    }));

    let caller = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let ask = |path: &str| tokio::spawn(caller.get(format!("http://{server}{path}").parse().unwrap()));
    let slow = ask("/quote/slow");
    until(|| vendor.attempts().len() == 1).await;
    // The first meets the 429, the others the cool-down.
    let mut waiting = vec![ask("/quote/acme")];
    until(|| families.health().families[0].waiting == 1).await;
    waiting.extend((0..20).map(|_| ask("/quote/other")));
    until(|| families.health().families[0].waiting == 21).await;

    let start = Instant::now();
    drop(stop);
    for call in waiting {
        let answer = call.await.unwrap().unwrap();
        assert_eq!(answer.status(), 503);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("\"reason\":\"shutting-down\""), "{body:?}");
    }
    let answer = slow.await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "7.25");
    serving.await.unwrap().unwrap();
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    vendor.assert_attempts(2);
    assert!(families.health().shutting_down);
}

/// Looks until it holds: for what another task does on its own time.
async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        sleep(Duration::from_millis(1)).await;
    }
}
