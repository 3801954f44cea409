//! Requests that are not simply for the whole: HEAD, conditions, ranges.

use forbear::stale::Fallback;
use http::Method;
use http::header::{CACHE_CONTROL, HeaderName, IF_NONE_MATCH, RANGE};

use crate::vendor::{Fault, answer, ok};
use crate::*;

const OTHER: &str = "http://vendor.test/other";

fn head(url: &str) -> Request<Body> {
    let mut request = get(url);
    *request.method_mut() = Method::HEAD;
    request
}

fn with_field(mut request: Request<Body>, name: HeaderName, value: &str) -> Request<Body> {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

#[tokio::test(start_paused = true)]
async fn a_head_is_served_what_is_old_or_the_fallback_where_nothing_better_is_to_be_had() {
    let vendor = Vendor::counting("max-age=10");
    let policy = StalePolicy::new().patience(300 * MS).fallback(Fallback::json("[]"));
    let service = with(policy, &vendor);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.now(|_| Err(Fault("no connection")));
    for (url, body) in [(URL, "1"), (OTHER, "[]")] {
        let answered = send(&service, head(url)).await;
        assert_eq!(because(served(&answered)), Some(Because::Faulted), "{url}");
        assert_eq!(text(answered).await, "", "the answer to HEAD has no body");
        assert_eq!(ask(&service, url).await.1, body);
    }
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(100 * SECOND);
    let begun = tokio::time::Instant::now();
    assert_eq!(because(served(&send(&service, head(URL)).await)), Some(Because::Slow));
    assert_eq!((begun.elapsed(), vendor.in_flight()), (300 * MS, 0));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_the_vendor_answers_is_its_own_and_stores_nothing() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    let first = send(&service, head(URL)).await;
    assert_eq!(first.headers()["cache-status"], "forbear; fwd=uri-miss");
    assert_eq!(served(&first), Served::Live);
    assert_eq!(ask(&service, URL).await.0, Served::Live);
    tokio::time::sleep(20 * SECOND).await;
    let stale = send(&service, head(URL)).await;
    assert_eq!(stale.headers()["cache-status"], "forbear; fwd=stale; fwd-status=200");
    assert_eq!(vendor.attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_have_the_same_already_are_told_so_by_one_attempt() {
    let vendor = Vendor::new(|request| {
        Ok(match request.headers().get(IF_NONE_MATCH) {
            Some(tag) if tag == "\"1\"" => answer(304, &[("etag", "\"1\"")], ""),
            _ => ok(&[("etag", "\"1\""), ("cache-control", "max-age=10")], "whole"),
        })
    });
    vendor.takes(SECOND);
    let service = service(&vendor);
    let asks = |tag: &str| {
        let (service, request) = (service.clone(), with_field(get(URL), IF_NONE_MATCH, tag));
        tokio::spawn(async move { send(&service, request).await })
    };
    let known: Vec<_> = (0..10_000).map(|_| asks("\"1\"")).collect();
    for one in known {
        let told = one.await.unwrap();
        assert_eq!((told.status().as_u16(), served(&told)), (304, Served::Live));
        assert_eq!(told.headers()["etag"], "\"1\"");
    }
    assert_eq!(vendor.attempts(), 1);
    // Who has something else, or nothing, is given the whole; and that is stored.
    let (other, whole) = (asks("\"0\""), ask(&service, URL).await);
    assert_eq!(whole, (Served::Live, "whole".into()));
    assert_eq!(text(other.await.unwrap()).await, "whole");
    assert_eq!(vendor.attempts(), 3);
    assert_eq!(asks("\"1\"").await.unwrap().status(), 304);
    assert_eq!(vendor.attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn who_has_something_already_is_served_the_fallback_too() {
    let vendor = Vendor::new(|_| Err(Fault("no connection")));
    let service = with(StalePolicy::new().fallback(Fallback::json("[]")), &vendor);
    let conditional = with_field(get(URL), IF_NONE_MATCH, "\"1\"");
    assert_eq!(read(send(&service, conditional).await).await.1, "[]");
}

/// Whoever wants what is stored, and nothing else, is no reason for an attempt.
#[tokio::test(start_paused = true)]
async fn only_if_cached_makes_no_attempt_whatever_else_is_asked() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    ask(&service, URL).await;
    let only = |request| with_field(request, CACHE_CONTROL, "only-if-cached");
    let ranged = with_field(only(get(URL)), RANGE, "bytes=0-1");
    let unstored = with_field(get(URL), CACHE_CONTROL, "no-store, only-if-cached");
    for request in [ranged, unstored, only(get(OTHER)), only(head(OTHER))] {
        let answered = send(&service, request).await;
        assert_eq!(answered.status(), 504);
        assert_eq!(answered.headers()["cache-status"], "forbear; detail=\"fallback, only-if-cached\"");
        assert_eq!(because(served(&answered)), Some(Because::OnlyIfCached));
    }
    assert_eq!(vendor.attempts(), 1);
}

/// What is stored is of GET alone, and is looked for by GET and HEAD of the whole.
#[tokio::test(start_paused = true)]
async fn all_other_requests_go_to_the_vendor_each_by_itself() {
    let vendor = Vendor::counting("max-age=1000");
    let service = service(&vendor);
    ask(&service, URL).await;
    let of = |method: &str| Request::builder().method(method).uri(URL).body(Body::default()).unwrap();
    let mut all = vec![(of("OPTIONS"), "method"), (of("TRACE"), "method")];
    for (name, value) in [
        ("range", "bytes=0-1"),
        ("if-range", "\"1\""),
        ("if-match", "\"1\""),
        ("if-unmodified-since", "Tue, 01 Dec 2026 10:00:00 GMT"),
        ("upgrade", "websocket"),
        ("cache-control", "no-store"),
    ] {
        all.push((with_field(get(URL), HeaderName::from_static(name), value), "bypass"));
    }
    all.push((get(URL).map(|_| vendor::body("q")), "bypass"));
    for (n, (request, why)) in all.into_iter().enumerate() {
        let answered = send(&service, request).await;
        assert_eq!(answered.headers()["cache-status"], format!("forbear; fwd={why}"), "{n}");
        assert_eq!((served(&answered), vendor.attempts()), (Served::Live, n + 2));
    }
    // None of these changed anything.
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "1".into()));
    for method in ["PUT", "PATCH", "DELETE", "PURGE", "MKCOL"] {
        let before = vendor.attempts();
        send(&service, of(method)).await;
        assert_eq!(ask(&service, URL).await.0, Served::Live, "{method}");
        assert_eq!(vendor.attempts(), before + 2);
    }
}

#[tokio::test(start_paused = true)]
async fn schemes_ports_queries_and_users_are_apart_and_cases_of_hosts_are_not() {
    let vendor = Vendor::counting("max-age=1000");
    let service = service(&vendor);
    ask(&service, "http://vendor.test/a?x=1&y=2").await;
    for (url, is_same) in [
        ("http://VENDOR.test/a?x=1&y=2", true),
        ("http://vendor.test/a?x=1&y=2#part", true),
        ("https://vendor.test/a?x=1&y=2", false),
        ("http://vendor.test:8080/a?x=1&y=2", false),
        ("http://vendor.test./a?x=1&y=2", false),
        ("http://user@vendor.test/a?x=1&y=2", false),
        ("http://vendor.test/a?y=2&x=1", false),
        ("http://vendor.test/A?x=1&y=2", false),
        ("http://vendor.test/a/?x=1&y=2", false),
        ("http://vendor.test/%61?x=1&y=2", false),
        ("/a?x=1&y=2", false),
    ] {
        let fresh = matches!(ask(&service, url).await.0, Served::Fresh);
        assert_eq!(fresh, is_same, "{url}");
        assert_eq!(ask(&service, url).await.0, Served::Fresh, "{url}");
    }
}
