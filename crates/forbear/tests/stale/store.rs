//! A store behind memory: what the next process has.

use forbear::stale::PurgeResponses;
use forbear_core::store::{MemoryResponses, ResponseStore};
use http::Method;

use crate::scripted::{Mood, Scripted};
use crate::vendor::{answer, ok};
use crate::*;

/// A process with a memory of its own, and this store.
pub(crate) fn process(vendor: &Vendor, store: &(impl ResponseStore + Clone)) -> StaleService<Vendor> {
    layer().store(store.clone()).layer(vendor.clone())
}

fn down() -> Vendor {
    Vendor::new(|_| Ok(answer(503, &[], "down")))
}

fn with_header(url: &str, name: &'static str, value: &str) -> Request<Body> {
    let mut request = get(url);
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

#[tokio::test(start_paused = true)]
async fn the_next_process_serves_what_is_fresh_and_then_what_is_stale_and_no_younger() {
    let store = MemoryResponses::new(1 << 20);
    let first = process(&Vendor::counting("max-age=60"), &store);
    assert_eq!(ask(&first, URL).await, (Served::Live, "1".into()));
    first.stored().await.unwrap();
    drop(first);
    // Half a second past the full one: both the age and the rest are rounded down.
    tokio::time::sleep(40 * SECOND + SECOND / 2).await;
    let vendor = down();
    let second = process(&vendor, &store);
    let response = send(&second, get(URL)).await;
    assert_eq!(response.headers()["age"], "40");
    assert_eq!(response.headers()["cache-status"], "forbear; hit; ttl=19");
    assert_eq!(read(response).await, (Served::Fresh, "1".into()));
    tokio::time::sleep(21 * SECOND).await;
    let third = process(&vendor, &store);
    let (served, text) = ask(&third, URL).await;
    assert_eq!((because(served), text.as_str()), (Some(Because::ServerError), "1"));
    let Served::Stale { age, .. } = served else { panic!("{served:?}") };
    assert_eq!(age.as_secs(), 61);
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_next_process_has_is_confirmed_and_kept_anew() {
    let store = MemoryResponses::new(1 << 20);
    let vendor = Vendor::new(|request| match request.headers().get("if-none-match") {
        Some(tag) if tag == "\"v1\"" => Ok(answer(304, &[("cache-control", "max-age=100")], "")),
        _ => Ok(ok(&[("etag", "\"v1\""), ("cache-control", "max-age=10")], "whole")),
    });
    let first = process(&vendor, &store);
    ask(&first, URL).await;
    first.stored().await.unwrap();
    tokio::time::sleep(11 * SECOND).await;
    let second = process(&vendor, &store);
    assert_eq!(ask(&second, URL).await, (Served::Live, "whole".into()));
    assert_eq!(vendor.asked()["if-none-match"], "\"v1\"");
    second.stored().await.unwrap();
    tokio::time::sleep(99 * SECOND).await;
    assert_eq!(ask(&process(&vendor, &store), URL).await, (Served::Fresh, "whole".into()));
    assert_eq!((vendor.attempts(), store.kept().await.unwrap().responses), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn what_fills_the_store_has_confirmed_what_the_process_before_stored() {
    let store = MemoryResponses::new(1 << 20);
    let vendor = Vendor::new(|request| match request.headers().contains_key("if-none-match") {
        true => Ok(answer(304, &[], "")),
        false => Ok(ok(&[("etag", "\"v1\""), ("cache-control", "max-age=10")], "whole")),
    });
    let first = process(&vendor, &store);
    ask(&first, URL).await;
    first.stored().await.unwrap();
    let second = process(&vendor, &store);
    assert_eq!(ask(&second.filling(), URL).await, (Served::Live, "whole".into()));
    assert_eq!(vendor.asked()["if-none-match"], "\"v1\"");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_served_what_another_was_given_also_by_the_next_process() {
    let store = MemoryResponses::new(1 << 20);
    let vendor = Vendor::new(|request| {
        let of =
            |name: &str| request.headers().get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
        let whose = format!("{} {} {}", request.uri(), of("authorization"), of("x-api-key"));
        let whose = format!("{whose} {} {}", of("cookie"), of("x-tenant"));
        Ok(ok(&[("cache-control", "max-age=10"), ("vary", "X-Tenant, Accept")], &whose))
    });
    let all = || {
        let who = ["authorization", "x-api-key", "cookie"]
            .into_iter()
            .flat_map(|name| ["1", "2"].map(|value| Some((name, value))))
            .chain([None]);
        who.flat_map(|who| {
            ["http://vendor.test/a", "http://other.test/a", "http://u:p@vendor.test/a"].into_iter().flat_map(
                move |url| [None, Some("x"), Some("y")].into_iter().map(move |tenant| (url, who, tenant)),
            )
        })
    };
    let asks = |(url, who, tenant): (&str, Option<(&'static str, &str)>, Option<&str>)| {
        let mut request = get(url);
        for (name, value) in who.into_iter().chain(tenant.map(|tenant| ("x-tenant", tenant))) {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        request
    };
    let expected = |(url, who, tenant): (&str, Option<(&str, &str)>, Option<&str>)| {
        let of = |name| who.filter(|(is, _)| *is == name).map_or("-", |(_, value)| value);
        let (authorization, key, cookie) = (of("authorization"), of("x-api-key"), of("cookie"));
        format!("{url} {authorization} {key} {cookie} {}", tenant.unwrap_or("-"))
    };
    let first = process(&vendor, &store);
    for one in all() {
        let (served, text) = read(send(&first, asks(one)).await).await;
        assert_eq!((served, text), (Served::Live, expected(one)));
    }
    first.stored().await.unwrap();
    let attempts = vendor.attempts();
    for round in ["fresh", "stale"] {
        let next = process(&vendor, &store);
        for one in all() {
            let (served, text) = read(send(&next, asks(one)).await).await;
            assert_eq!(text, expected(one), "{round}");
            assert_eq!(matches!(served, Served::Fresh), round == "fresh");
        }
        vendor.now(|_| Ok(answer(503, &[], "down")));
        tokio::time::sleep(11 * SECOND).await;
    }
    assert_eq!((attempts, vendor.attempts()), (7 * 9, 7 * 9 + 7 * 9));
}

#[tokio::test(start_paused = true)]
async fn what_memory_has_no_room_for_is_read_from_the_store() {
    let store = MemoryResponses::new(64 << 20);
    let vendor = Vendor::new(|request| {
        let text = request.uri().path().repeat(10_000);
        Ok(ok(&[("cache-control", "max-age=60")], &text))
    });
    let service = process(&vendor, &store);
    let url = |number: usize| format!("http://vendor.test/{number:04}");
    for number in 0..200 {
        ask(&service, &url(number)).await;
    }
    service.stored().await.unwrap();
    assert!(service.stored_bytes() <= 1 << 20);
    for number in 0..200 {
        let (served, text) = ask(&service, &url(number)).await;
        assert_eq!((served, text), (Served::Fresh, format!("/{number:04}").repeat(10_000)));
    }
    assert_eq!(vendor.attempts(), 200);
    assert!(service.stored_bytes() <= 1 << 20);
}

#[tokio::test(start_paused = true)]
async fn heads_conditional_requests_and_only_if_cached_are_answered_from_the_store() {
    let store = MemoryResponses::new(1 << 20);
    let vendor = Vendor::new(|_| Ok(ok(&[("cache-control", "max-age=60"), ("etag", "\"v\"")], "whole")));
    let first = process(&vendor, &store);
    ask(&first, URL).await;
    first.stored().await.unwrap();
    let mut head = get(URL);
    *head.method_mut() = Method::HEAD;
    let only = with_header(URL, "cache-control", "only-if-cached");
    let known = with_header(URL, "if-none-match", "\"v\"");
    for (request, status, body) in [(head, 200, ""), (only, 200, "whole"), (known, 304, "")] {
        let response = send(&process(&vendor, &store), request).await;
        assert_eq!((response.status().as_u16(), served(&response)), (status, Served::Fresh));
        assert_eq!(text(response).await, body);
    }
    let missing = with_header("http://vendor.test/none", "cache-control", "only-if-cached");
    assert_eq!(send(&process(&vendor, &store), missing).await.status(), 504);
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_change_made_old_does_not_come_back_from_the_store() {
    let post = || Request::post(URL).body(vendor::body("x")).unwrap();
    // The second cannot write: also then.
    for mood in [Mood::Well, Mood::Full] {
        let store = Scripted::new();
        let vendor = Vendor::counting("max-age=60");
        let service = process(&vendor, &store);
        ask(&service, URL).await;
        service.stored().await.unwrap();
        store.is(mood);
        send(&service, post()).await;
        assert_eq!(ask(&service, URL).await, (Served::Live, "3".into()), "{mood:?}");
        store.is(Mood::Well);
        service.stored().await.unwrap();
        assert_eq!(ask(&process(&vendor, &store), URL).await, (Served::Fresh, "3".into()), "{mood:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_removed_while_it_is_read_is_not_served() {
    let store = Scripted::new();
    let vendor = Vendor::counting("max-age=60");
    let first = process(&vendor, &store);
    ask(&first, URL).await;
    first.stored().await.unwrap();
    let next = process(&vendor, &store);
    store.is(Mood::Slow(20 * MS));
    let reading = tokio::spawn({
        let next = next.clone();
        async move { ask(&next, URL).await }
    });
    tokio::time::sleep(10 * MS).await;
    send(&next, Request::post(URL).body(vendor::body("x")).unwrap()).await;
    assert_eq!(reading.await.unwrap(), (Served::Live, "3".into()));
    assert_eq!(ask(&next, URL).await, (Served::Fresh, "3".into()));
}

#[tokio::test(start_paused = true)]
async fn what_the_vendor_marks_no_store_is_in_memory_alone() {
    let store = Scripted::new();
    let vendor = Vendor::counting("no-store");
    let keeping = layer().policy(StalePolicy::new().store_no_store()).store(store.clone());
    let service = keeping.layer(vendor.clone());
    ask(&service, URL).await;
    service.stored().await.unwrap();
    assert_eq!(store.kept().await, 0);
    vendor.now(|_| Ok(answer(503, &[], "down")));
    assert_eq!(because(ask(&service, URL).await.0), Some(Because::ServerError));
    // Nor does what it takes the place of stay.
    vendor.now(|_| Ok(ok(&[("cache-control", "max-age=0")], "2")));
    tokio::time::sleep(2 * SECOND).await;
    ask(&service, URL).await;
    service.stored().await.unwrap();
    assert_eq!(store.kept().await, 1);
    vendor.now(|_| Ok(ok(&[("cache-control", "no-store")], "3")));
    ask(&service, URL).await;
    service.stored().await.unwrap();
    assert_eq!(store.kept().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_one_users_alone_is_not_served_by_a_shared_cache_with_the_same_store() {
    let store = MemoryResponses::new(1 << 20);
    let vendor = Vendor::counting("private, max-age=60");
    let own = process(&vendor, &store);
    ask(&own, URL).await;
    own.stored().await.unwrap();
    let shared = layer().shared().store(store.clone()).layer(vendor.clone());
    assert_eq!(ask(&shared, URL).await, (Served::Live, "2".into()));
    assert_eq!(ask(&process(&vendor, &store), URL).await, (Served::Fresh, "1".into()));
}

#[tokio::test(start_paused = true)]
async fn a_purge_forgets_here_and_in_the_store() {
    let store = Scripted::new();
    let vendor = Vendor::counting("max-age=60");
    let service = process(&vendor, &store);
    let urls = [URL, "http://vendor.test:81/a", "http://other.test/a"];
    for url in urls {
        ask(&service, url).await;
    }
    service.stored().await.unwrap();
    // Two are on their way.
    store.is(Mood::Slow(10 * MS));
    ask(&service, "http://vendor.test/b").await;
    ask(&service, "http://vendor.test/c").await;
    let purged = service.purge(PurgeResponses::Host("vendor.test".into())).await.unwrap();
    assert_eq!(purged, 4);
    store.is(Mood::Well);
    service.stored().await.unwrap();
    assert_eq!(store.kept().await, 1);
    for next in [service.clone(), process(&vendor, &store)] {
        assert_eq!(ask(&next, urls[2]).await, (Served::Fresh, "3".into()));
    }
    for url in [URL, "http://vendor.test:81/a", "http://vendor.test/b", "http://vendor.test/c"] {
        assert_eq!(ask(&service, url).await.0, Served::Live, "{url}");
    }
    service.stored().await.unwrap();
    assert_eq!(service.purge(PurgeResponses::All).await.unwrap(), 5);
    assert_eq!(store.kept().await, 0);
    assert_eq!(ask(&service, urls[2]).await.0, Served::Live);
    // Without a store it says how many there were in memory.
    let alone = crate::service(&vendor);
    for url in urls {
        ask(&alone, url).await;
    }
    assert_eq!(alone.purge(PurgeResponses::Host("other.test".into())).await.unwrap(), 1);
    assert_eq!((ask(&alone, urls[2]).await.0, ask(&alone, URL).await.0), (Served::Live, Served::Fresh));
    alone.stored().await.unwrap();
}

/// The store is told to forget while it is given, in two steps, what is to be forgotten.
#[tokio::test(start_paused = true)]
async fn what_is_being_written_when_it_is_purged_does_not_come_back() {
    let store = Scripted::new();
    let vendor = Vendor::counting("max-age=0");
    let service = process(&vendor, &store);
    ask(&service, URL).await;
    service.stored().await.unwrap();
    store.is(Mood::Slow(10 * MS));
    let change = |url: &str| Request::post(url).body(vendor::body("x")).unwrap();
    send(&service, change("http://other.test/a")).await;
    settle().await;
    // Both are in the next batch, from 10 ms on: this is removed until 20 ms, and that put until 30 ms.
    send(&service, change("http://other.test/b")).await;
    assert_eq!(ask(&service, URL).await.0, Served::Live);
    tokio::time::sleep(15 * MS).await;
    service.purge(PurgeResponses::Host("vendor.test".into())).await.unwrap();
    service.stored().await.unwrap();
    assert_eq!(store.kept().await, 0);
}
