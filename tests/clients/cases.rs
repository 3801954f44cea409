//! What every client has to do alike.

use std::time::Duration;

use forbear::HealthPhase;
use forbear_mock::{MockVendor, reply};
use http::StatusCode;
use tokio::time::Instant;

use crate::adapters::{Adapter, Ended, family, get, post, stack, through};

const SECOND: Duration = Duration::from_secs(1);

through!([
    a_429_on_one_route_cools_the_other,
    a_call_ends_within_its_budget,
    a_limit_is_waited_out,
    case_49_a_dropped_probe_is_followed_by_another,
    case_53_a_post_is_sent_again_only_where_that_is_safe,
]);

async fn a_429_on_one_route_cools_the_other(adapter: Adapter) {
    let mock = MockVendor::start().await.script(reply(200)).route("/chart", [reply(429).retry_after(60)]);
    let families = family(&mock.authority());
    let vendor = adapter.around(&stack(&families, 5 * SECOND));
    let limited = vendor.send(get(mock.url("/chart"))).await.unwrap();
    assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
    if adapter.is_a_server() {
        assert_eq!(limited.headers()["forbear-refusal"], "vendor");
    } else {
        let signal =
            limited.extensions().get::<forbear::Signal>().expect("a limited answer says what it means");
        assert_eq!(signal.family(), Some("quotes"));
    }
    let refused = vendor.send(get(mock.url("/options"))).await.unwrap_err();
    // A server does not tell its callers which route.
    let route = (!adapter.is_a_server()).then(|| "/chart".to_owned());
    assert_eq!(Ended::of(&refused), Ended::Cooling("quotes".to_owned(), route), "{refused:?}");
    mock.assert_attempts(1);
    assert_eq!(families.health().family("quotes").map(|family| family.phase), Some(HealthPhase::Cooling));
}

async fn a_call_ends_within_its_budget(adapter: Adapter) {
    let mock = MockVendor::start().await.script(reply(200).delay(60 * SECOND));
    let vendor = adapter.around(&stack(&family(&mock.authority()), SECOND / 5));
    let start = Instant::now();
    let ended = vendor.send(get(mock.url("/chart"))).await.unwrap_err();
    assert!(start.elapsed() < 10 * SECOND);
    let attempts = (!adapter.is_a_server()).then_some(1);
    assert_eq!(Ended::of(&ended), Ended::BudgetExhausted(attempts), "{ended:?}");
}

async fn a_limit_is_waited_out(adapter: Adapter) {
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "300"), reply(200)]);
    let vendor = adapter.around(&stack(&family(&mock.authority()), 30 * SECOND));
    assert_eq!(vendor.status(get(mock.url("/chart"))).await, StatusCode::OK);
    mock.assert_attempts(2);
    mock.assert_gap_at_least(Duration::from_millis(300));
}

// linkerd/linkerd2-proxy#751, anza-xyz/agave#10478, palantir/conjure-java-runtime#1147: what a call held is gone when its
// future is dropped.
async fn case_49_a_dropped_probe_is_followed_by_another(adapter: Adapter) {
    let mock = MockVendor::start().await.script([
        reply(429).header("retry-after-ms", "1"),
        reply(200).delay(60 * SECOND),
        reply(200),
    ]);
    let families = family(&mock.authority());
    let vendor = adapter.around(&stack(&families, 30 * SECOND));
    let probing = async {
        while mock.attempts().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        answer = vendor.send(get(mock.url("/chart"))) => panic!("{answer:?}"),
        () = probing => {}
    }
    assert_eq!(vendor.status(get(mock.url("/chart"))).await, StatusCode::OK);
    let attempts = mock.attempts();
    assert_eq!(attempts.len(), 3);
    // It is no news of the vendor, neither good nor bad: the next probe goes out a second later.
    assert!(attempts[2].since() - attempts[1].since() >= SECOND, "{attempts:?}");
}

// KittyCAD/kittycad.rs#1042, traefik/traefik#8990, http4s/http4s#712: a 429 was not carried out, a 503 may have been.
async fn case_53_a_post_is_sent_again_only_where_that_is_safe(adapter: Adapter) {
    let limited = |status: u16| [reply(status).header("retry-after-ms", "1"), reply(200)];
    let mock = MockVendor::start()
        .await
        .route("/throttled", limited(429))
        .route("/overloaded", limited(503))
        .route("/keyed", limited(503))
        .route("/broken", [reply(502), reply(200)]);
    let vendor = adapter.around(&stack(&family(&mock.authority()), 30 * SECOND));
    assert_eq!(vendor.status(post(mock.url("/throttled"), "order")).await, StatusCode::OK);
    mock.assert_attempts_on("/throttled", 2);
    assert_eq!(vendor.status(post(mock.url("/overloaded"), "order")).await, StatusCode::SERVICE_UNAVAILABLE);
    mock.assert_attempts_on("/overloaded", 1);
    let mut keyed = post(mock.url("/keyed"), "order");
    keyed.headers_mut().insert("idempotency-key", http::HeaderValue::from_static("7"));
    assert_eq!(vendor.status(keyed).await, StatusCode::OK);
    mock.assert_attempts_on("/keyed", 2);
    assert_eq!(vendor.status(post(mock.url("/broken"), "order")).await, StatusCode::BAD_GATEWAY);
    mock.assert_attempts_on("/broken", 1);
}
