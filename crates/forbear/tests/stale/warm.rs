//! With something in hand.

use forbear::{Families, Family, FamilyCooldownLayer, Unknown};
use http::header::{AGE, IF_NONE_MATCH};
use tower::ServiceBuilder;

use crate::vendor::{Fault, answer, ok};
use crate::*;

#[tokio::test(start_paused = true)]
async fn a_fresh_answer_is_served_without_an_attempt_and_tells_its_age() {
    let vendor = Vendor::counting("max-age=60");
    let service = service(&vendor);
    assert_eq!(ask(&service, URL).await, (Served::Live, "1".into()));
    tokio::time::sleep(58_500 * MS).await;
    let response = send(&service, get(URL)).await;
    assert_eq!(response.headers()[AGE], "58");
    assert_eq!(response.headers()["cache-status"], "forbear; hit; ttl=1");
    assert_eq!(read(response).await, (Served::Fresh, "1".into()));
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(ask(&service, URL).await, (Served::Live, "2".into()));
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_304_confirms_what_is_stored_with_its_new_fields() {
    let vendor = Vendor::new(|request| match request.headers().get(IF_NONE_MATCH) {
        Some(tag) if tag == "\"v1\"" => {
            Ok(answer(304, &[("etag", "\"v1\""), ("cache-control", "max-age=100"), ("x-new", "yes")], ""))
        }
        _ => Ok(ok(&[("etag", "\"v1\""), ("cache-control", "max-age=10")], "whole")),
    });
    let service = service(&vendor);
    assert_eq!(ask(&service, URL).await.1, "whole");
    tokio::time::sleep(11 * SECOND).await;
    let response = send(&service, get(URL)).await;
    assert_eq!((response.status().as_u16(), response.headers()["x-new"].to_str().unwrap()), (200, "yes"));
    assert_eq!(read(response).await, (Served::Live, "whole".into()));
    assert_eq!(vendor.asked()[IF_NONE_MATCH], "\"v1\"");
    tokio::time::sleep(99 * SECOND).await;
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "whole".into()));
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_a_cool_down_is_served_from_memory_without_an_attempt() {
    let vendor = Vendor::counting("max-age=10");
    let family = Family::new("vendor").host("vendor.test");
    let families = Families::builder().family(family).unknown(Unknown::Refuse).build().unwrap();
    let service = ServiceBuilder::new()
        .layer(layer())
        .map_response(|response: http::Response<_>| response.map(vendor::boxed))
        .layer(FamilyCooldownLayer::new(families.clone()))
        .service(vendor.clone());
    assert_eq!(ask(&service, URL).await.1, "1");
    tokio::time::sleep(11 * SECOND).await;
    vendor.now(|_| Ok(answer(429, &[("retry-after", "3600")], "no")));
    let (served, text) = ask(&service, URL).await;
    assert_eq!((because(served), text.as_str()), (Some(Because::Limited), "1"));
    for minute in 1..60 {
        tokio::time::sleep(60 * SECOND).await;
        let (served, text) = ask(&service, URL).await;
        assert_eq!((because(served), text.as_str()), (Some(Because::Cooling), "1"), "{minute}");
    }
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn within_its_while_revalidate_the_old_is_served_and_one_attempt_brings_the_new() {
    let vendor = Vendor::counting("max-age=10, stale-while-revalidate=60");
    let service = service(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(SECOND);
    for _ in 0..1000 {
        let (served, text) = ask(&service, URL).await;
        assert_eq!((because(served), text.as_str()), (Some(Because::Revalidating), "1"));
    }
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_slow_vendor_is_read_on_in_the_background() {
    let vendor = Vendor::counting("max-age=10");
    let service = with(StalePolicy::new().patience(300 * MS), &vendor);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(5 * SECOND);
    let begun = tokio::time::Instant::now();
    let (served, text) = ask(&service, URL).await;
    assert_eq!((because(served), text.as_str(), begun.elapsed()), (Some(Because::Slow), "1", 300 * MS));
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
    assert_eq!((vendor.attempts(), vendor.in_flight()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn after_a_fault_it_is_not_asked_again_for_a_second() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.now(|_| Err(Fault("no connection")));
    assert_eq!(because(ask(&service, URL).await.0), Some(Because::Faulted));
    for _ in 0..100 {
        assert_eq!(because(ask(&service, URL).await.0), Some(Because::FailedLately));
    }
    assert_eq!(vendor.attempts(), 2);
    tokio::time::sleep(SECOND).await;
    assert_eq!(because(ask(&service, URL).await.0), Some(Because::Faulted));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_or_must_be_confirmed_is_not_served() {
    for (cache_control, after) in [("max-age=10", 24 * 3600 + 11), ("max-age=10, must-revalidate", 11)] {
        let vendor = Vendor::counting(cache_control);
        let service = service(&vendor);
        ask(&service, URL).await;
        tokio::time::sleep(after * SECOND).await;
        vendor.now(|_| Ok(answer(503, &[], "down")));
        let response = send(&service, get(URL)).await;
        assert_eq!((response.status().as_u16(), served(&response)), (503, Served::Live), "{cache_control}");
        assert_eq!(text(response).await, "down");
    }
}
