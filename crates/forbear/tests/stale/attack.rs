//! What nobody should do.

use forbear::stale::Fallback;
use http::header::{ACCEPT_LANGUAGE, CACHE_CONTROL};

use crate::vendor::{Fault, answer, boxed, ok};
use crate::*;

/// Nine frames, one each 100 ms, after a head that takes 100 ms.
fn slow(vendor: &Vendor) {
    vendor.takes(100 * MS);
    vendor.now(|_| {
        let frames = futures_util::stream::unfold(0, |n| async move {
            tokio::time::sleep(100 * MS).await;
            let frame = Ok::<_, Fault>(http_body::Frame::data(bytes::Bytes::from(n.to_string())));
            (n < 9).then_some((frame, n + 1))
        });
        let mut response = ok(&[("cache-control", "max-age=10, stale-while-revalidate=5")], "");
        *response.body_mut() = boxed(http_body_util::StreamBody::new(frames));
        Ok(response)
    });
}

#[tokio::test(start_paused = true)]
async fn cancelled_at_any_moment_it_leaves_nothing_behind() {
    for old in [false, true] {
        for after in 0..13 {
            let vendor = Vendor::counting("max-age=10");
            let service = with(StalePolicy::new().patience(450 * MS), &vendor);
            if old {
                ask(&service, URL).await;
                tokio::time::sleep(20 * SECOND).await;
            }
            let before = vendor.attempts();
            slow(&vendor);
            let one = tokio::spawn({
                let service = service.clone();
                async move { ask(&service, URL).await }
            });
            tokio::time::sleep(after * 100 * MS + 50 * MS).await;
            one.abort();
            // Where it had patience, the attempt goes on for the next.
            tokio::time::sleep(2 * SECOND).await;
            assert_eq!(vendor.in_flight(), 0, "{old} {after}");
            let (_, text) = ask(&service, URL).await;
            assert_eq!(text, "012345678", "{old} {after}");
            assert!(vendor.attempts() - before <= 2, "{old} {after}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_before_a_change_is_not_stored_after_it() {
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(SECOND);
    let service = service(&vendor);
    let early = tokio::spawn({
        let service = service.clone();
        async move { ask(&service, URL).await.1 }
    });
    tokio::time::sleep(500 * MS).await;
    vendor.takes(Duration::ZERO);
    send(&service, Request::post(URL).body(vendor::body("x")).unwrap()).await;
    // Who asks after the change is not told what was before it.
    assert_eq!(ask(&service, URL).await, (Served::Live, "2".into()));
    assert_eq!(early.await.unwrap(), "3");
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
}

#[tokio::test(start_paused = true)]
async fn fifty_languages_are_asked_for_at_once_and_each_once() {
    let vendor = Vendor::new(|request| {
        let language = request.headers()[ACCEPT_LANGUAGE].to_str().unwrap();
        Ok(ok(&[("cache-control", "max-age=60"), ("vary", "accept-language")], language))
    });
    vendor.takes(SECOND);
    let service = service(&vendor);
    let begun = tokio::time::Instant::now();
    let asked = (0..500).map(|n| {
        let language = format!("l{}", n % 50);
        let mut request = get(URL);
        request.headers_mut().insert(ACCEPT_LANGUAGE, language.parse().unwrap());
        let service = service.clone();
        async move { assert_eq!(read(send(&service, request).await).await.1, language) }
    });
    futures_util::future::join_all(asked).await;
    assert_eq!((vendor.attempts(), begun.elapsed()), (50, 2 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_as_long_as_it_says_is_not_stored() {
    for (length, is_stored) in [("3", true), ("2", false), ("4", false), ("99999999999999999999", true)] {
        let vendor = Vendor::new(move |_| {
            Ok(ok(&[("cache-control", "max-age=60"), ("content-length", length)], "abc"))
        });
        let service = service(&vendor);
        for _ in 0..2 {
            assert_eq!(ask(&service, URL).await.1, "abc");
        }
        assert_eq!(vendor.attempts() == 1, is_stored, "{length}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_fields_to_select_by_are_too_many() {
    for (fields, is_stored) in [(64, true), (65, false), (1000, false)] {
        let vary: Vec<_> = (0..fields).map(|n| format!("x-{n}")).collect();
        let vary = vary.join(", ");
        let vendor =
            Vendor::new(move |_| Ok(ok(&[("cache-control", "max-age=60"), ("vary", vary.as_str())], "abc")));
        let service = service(&vendor);
        for _ in 0..2 {
            assert_eq!(ask(&service, URL).await.1, "abc");
        }
        assert_eq!(vendor.attempts() == 1, is_stored, "{fields}");
    }
}

/// Of as many names as there can be, and of one name.
#[tokio::test(start_paused = true)]
async fn very_many_fields_pass_and_are_not_stored() {
    for (fields, names, is_stored) in
        [(4_000, 4_000, true), (5_000, 5_000, false), (30_000, 30_000, false), (100_000, 1, false)]
    {
        let many = move |mut response: Response<Body>| {
            for n in 0..fields {
                let name: http::HeaderName = format!("x-{}", n % names).parse().unwrap();
                let _ = response.headers_mut().try_append(name, "1".parse().unwrap());
            }
            response
        };
        let vendor =
            Vendor::new(move |_| Ok(many(ok(&[("cache-control", "max-age=60"), ("etag", "\"v\"")], "abc"))));
        let service = service(&vendor);
        for _ in 0..2 {
            let response = send(&service, get(URL)).await;
            assert!(response.headers().len() >= fields.min(24_000));
            assert_eq!(text(response).await, "abc");
        }
        assert_eq!(vendor.attempts() == 1, is_stored, "{fields} {names}");
        // Nor where it confirms what is stored.
        vendor.now(|_| Ok(ok(&[("cache-control", "max-age=1"), ("etag", "\"v\"")], "abc")));
        let url = "http://vendor.test/b";
        ask(&service, url).await;
        tokio::time::sleep(10 * SECOND).await;
        vendor.now(move |_| Ok(many(answer(304, &[("etag", "\"v\"")], ""))));
        assert_eq!(ask(&service, url).await.1, "abc");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_panics_is_its_callers_and_makes_no_further_attempt() {
    let vendor = Vendor::new(|_| Ok(answer(503, &[], "down")));
    vendor.takes(SECOND);
    let service = with(StalePolicy::new().fallback(Fallback::of(|_| panic!("no fallback"))), &vendor);
    let asked: Vec<_> = (0..100).map(|_| tokio::spawn(service.clone().oneshot(get(URL)))).collect();
    for one in asked {
        assert!(one.await.unwrap_err().is_panic());
    }
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn lies_about_time_make_nothing_fresh_and_harm_nothing() {
    for lies in [
        &[("cache-control", "max-age=60"), ("age", "315360000")][..],
        &[("cache-control", "max-age=-1")],
        &[("cache-control", "max-age=1e9")],
        &[("expires", "Fri, 31 Dec 9999 23:59:60 GMT"), ("date", "never")],
        &[("cache-control", "max-age=0"), ("date", "Fri, 31 Dec 9999 23:59:59 GMT")],
    ] {
        let vendor = Vendor::new(move |_| Ok(ok(lies, "abc")));
        let service = service(&vendor);
        for _ in 0..2 {
            assert_eq!(ask(&service, URL).await.1, "abc", "{lies:?}");
        }
        vendor.now(|_| Err(Fault("no connection")));
        // Whatever it says, it is served where there is nothing better, or not at all.
        if let Ok(response) = service.clone().oneshot(get(URL)).await {
            let age = response.headers().get("age").and_then(|age| age.to_str().unwrap().parse::<u64>().ok());
            assert!(age.is_none_or(|age| age <= 1 << 31), "{lies:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_request_asks_of_freshness_holds() {
    let vendor = Vendor::counting("max-age=60");
    let service = service(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(40 * SECOND).await;
    let asks = async |says: &str| {
        let mut request = get(URL);
        request.headers_mut().insert(CACHE_CONTROL, says.parse().unwrap());
        served(&send(&service, request).await)
    };
    assert_eq!(asks("min-fresh=10").await, Served::Fresh);
    assert_eq!(asks("max-age=50").await, Served::Fresh);
    tokio::time::sleep(30 * SECOND).await;
    // Ten seconds past its freshness.
    assert_eq!(because(asks("max-stale=20").await), Some(Because::MaxStale));
    assert_eq!(vendor.attempts(), 1);
    for says in ["max-stale=5", "min-fresh=50", "max-age=0", "no-cache"] {
        assert_eq!(asks(says).await, Served::Live, "{says}");
        tokio::time::sleep(20 * SECOND).await;
    }
    assert_eq!(vendor.attempts(), 5);
    // As it was said before there was `Cache-Control`.
    let mut of_old = get(URL);
    of_old.headers_mut().insert("pragma", "no-cache".parse().unwrap());
    assert_eq!(served(&send(&service, of_old).await), Served::Live);
    assert_eq!(vendor.attempts(), 6);
}

/// As where a service is called before its future is handed to a runtime.
#[test]
fn called_outside_a_runtime_it_serves_what_it_has() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    // It is past its freshness when it comes.
    let old = [("cache-control", "max-age=1, stale-while-revalidate=1000"), ("age", "5")];
    let vendor = Vendor::new(move |_| Ok(ok(&old, "1")));
    let inside = runtime();
    let service = service(&vendor);
    inside.block_on(ask(&service, URL));
    let future = tower::Service::call(&mut service.clone(), get(URL));
    let response = runtime().block_on(future).unwrap();
    assert_eq!(because(served(&response)), Some(Because::Revalidating));
    assert_eq!(vendor.attempts(), 1);
}

/// On several threads the reader is woken while what it read is being stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_again_as_soon_as_the_body_has_ended_is_served_what_is_stored() {
    let vendor = Vendor::counting("max-age=60");
    let service = layer().layer(vendor.clone());
    for n in 0..500 {
        let url = format!("http://vendor.test/{n}");
        assert_eq!(ask(&service, &url).await.0, Served::Live);
        assert_eq!(ask(&service, &url).await.0, Served::Fresh, "{n}");
    }
    assert_eq!(vendor.attempts(), 500);
}
