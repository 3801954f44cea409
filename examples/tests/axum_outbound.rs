//! The axum server waits where it may, and says when to come back where it may not.

use std::time::Duration;

use axum::body::Body;
use forbear::Families;
use forbear_examples::axum_outbound::{self, Outbound};
use forbear_mock::{MockVendor, reply};
use http::Request;
use tower::ServiceExt;

#[tokio::test]
async fn handlers_share_one_stack_and_map_refusals() {
    let seen = axum_outbound::run().await.unwrap();
    let statuses: Vec<_> = seen.iter().map(|seen| (seen.path, seen.status, seen.attempts)).collect();
    let expected = [
        ("/quote/acme", 200, 1),
        ("/quote/busy", 200, 3),
        ("/quote/closed", 503, 4),
        ("/quote/acme", 503, 4),
        ("/health", 200, 4),
    ];
    assert_eq!(statuses, expected, "{seen:?}");
    assert_eq!((seen[0].body.as_str(), seen[1].body.as_str()), ("7.25", "8.50"));
    assert!(seen[1].took >= Duration::from_secs(1), "the vendor is left alone as long as it asked: {seen:?}");
    for refused in &seen[2..4] {
        assert!(refused.took < Duration::from_secs(1), "{refused:?}");
        assert!(refused.retry_after.is_some_and(|left| (115..=120).contains(&left)), "{refused:?}");
    }
    assert!(seen[3].body.starts_with("quotes is cooling, retry in"), "{seen:?}");
    assert!(seen[4].body.starts_with("quotes  cooling"), "{seen:?}");
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
