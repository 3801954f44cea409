//! Redirects that reqwest follows by itself.

use std::time::Duration;

use forbear::{Families, Family, HealthPhase};
use forbear_mock::{MockVendor, reply};
use http::StatusCode;

use crate::adapters::{Adapter, get, post, reqwest_client, stack, through};

const SECOND: Duration = Duration::from_secs(1);

through!(reqwest_http1: Reqwest1, middleware_http1: Middleware1 => [
    the_family_that_answered_cools,
    a_small_body_is_sent_on,
]);

async fn vendors() -> (MockVendor, MockVendor, Families) {
    let prices = MockVendor::start().await.script(reply(200)).route("/acme", [reply(429).retry_after(60)]);
    let front = MockVendor::start()
        .await
        .route("/acme", [reply(307).header("location", prices.url("/acme"))])
        .route("/orders", [reply(307).header("location", prices.url("/orders"))]);
    let families = Families::builder()
        .family(Family::new("front").host(front.authority()))
        .family(Family::new("prices").host(prices.authority()))
        .build()
        .unwrap();
    (front, prices, families)
}

async fn the_family_that_answered_cools(adapter: Adapter) {
    let (front, _prices, families) = vendors().await;
    let vendor = adapter.around(&stack(&families, 5 * SECOND));
    assert_eq!(vendor.status(get(front.url("/acme"))).await, StatusCode::TOO_MANY_REQUESTS);
    let health = families.health();
    assert_eq!(health.family("prices").map(|family| family.phase), Some(HealthPhase::Cooling));
    assert_eq!(health.family("front").map(|family| family.phase), Some(HealthPhase::Open));
}

async fn a_small_body_is_sent_on(adapter: Adapter) {
    let (front, prices, families) = vendors().await;
    let vendor = adapter.around(&stack(&families, 5 * SECOND));
    assert_eq!(vendor.status(post(front.url("/orders"), "7 of acme")).await, StatusCode::OK);
    assert_eq!(prices.attempts()[0].body(), "7 of acme");
}

#[tokio::test]
async fn the_response_knows_its_url() {
    let (front, prices, families) = vendors().await;
    let client = reqwest_client(false);
    let vendor = stack(&families, 5 * SECOND).reqwest(client.clone());
    let moved =
        vendor.execute(client.post(front.url("/orders")).body("7 of acme").build().unwrap()).await.unwrap();
    assert_eq!(moved.url().as_str(), prices.url("/orders"));
    let plain = vendor.execute(client.get(prices.url("/news?a=b#c")).build().unwrap()).await.unwrap();
    assert_eq!(plain.url().as_str(), prices.url("/news?a=b#c"));
}
