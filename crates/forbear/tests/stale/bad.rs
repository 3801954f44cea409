//! Answers that are worse than none.

use forbear::stale::Fallback;
use forbear::{Families, Signal};
use http::header::{CACHE_CONTROL, IF_NONE_MATCH};

use crate::vendor::{Fault, answer, ok};
use crate::*;

/// Ten thousand who ask at once.
async fn all(service: &StaleService<Vendor>, url: &'static str) -> Vec<Result<Answer, forbear::Error>> {
    let asked: Vec<_> = (0..10_000).map(|_| tokio::spawn(service.clone().oneshot(get(url)))).collect();
    let mut answers = Vec::new();
    for one in asked {
        answers.push(one.await.unwrap());
    }
    answers
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_wait_for_a_bad_answer_are_told_it_by_one_attempt() {
    for status in [429, 503, 500, 529] {
        let vendor = Vendor::new(move |_| Ok(answer(status, &[("retry-after", "7"), ("x-a", "b")], "no")));
        vendor.takes(SECOND);
        for told in all(&service(&vendor), URL).await {
            let told = told.unwrap();
            assert_eq!((told.status().as_u16(), served(&told)), (status, Served::Live));
            assert_eq!(
                (told.headers()["retry-after"].to_str().unwrap(), told.headers()["x-a"].to_str().unwrap()),
                ("7", "b")
            );
            assert_eq!(text(told).await, "no");
        }
        assert_eq!(vendor.attempts(), 1, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waited_is_told_the_signal_too() {
    let vendor = Vendor::new(|_| Ok(answer(429, &[("retry-after", "7")], "no")));
    vendor.takes(SECOND);
    let families = Families::builder().build().unwrap();
    let service = tower::ServiceBuilder::new()
        .layer(layer())
        .map_response(|response: Response<_>| response.map(vendor::boxed))
        .layer(forbear::FamilyCooldownLayer::new(families))
        .service(vendor.clone());
    let answers = futures_util::future::join_all((0..5).map(|_| send(&service, get(URL)))).await;
    for told in &answers {
        assert_eq!(told.extensions().get::<Signal>().unwrap().family(), Some("vendor.test"));
    }
    let collapsed =
        answers.iter().filter(|told| told.headers()["cache-status"] == "forbear; fwd=uri-miss; collapsed");
    assert_eq!((collapsed.count(), vendor.attempts()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_stored_the_fallback_is_better_than_a_bad_answer() {
    for (status, why) in [(429, Because::Limited), (503, Because::ServerError)] {
        let vendor = Vendor::new(move |_| Ok(answer(status, &[], "no")));
        vendor.takes(SECOND);
        let of_gets = Fallback::of(|head| {
            let known = head.uri.path() == "/a";
            known.then(|| Response::new(bytes::Bytes::from_static(b"instead")))
        });
        let service = with(StalePolicy::new().fallback(of_gets), &vendor);
        for told in all(&service, URL).await {
            assert_eq!(read(told.unwrap()).await, (Served::Fallback { because: why }, "instead".into()));
        }
        assert_eq!(vendor.attempts(), 1);
        // There is none for that.
        assert_eq!(send(&service, get("http://vendor.test/b")).await.status().as_u16(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_gate_a_limit_holds_as_long_as_it_says_and_at_least_the_gap() {
    for (says, rests) in [(Some("30"), 30), (None, 1), (Some("0"), 1), (Some("99999999999"), 24 * 3600)] {
        for status in [429, 503] {
            let vendor = Vendor::counting("max-age=10, stale-if-error=999999");
            let service = service(&vendor);
            ask(&service, URL).await;
            tokio::time::sleep(20 * SECOND).await;
            vendor.now(move |_| Ok(answer(status, says.map(|says| ("retry-after", says)).as_slice(), "")));
            ask(&service, URL).await;
            assert_eq!(vendor.attempts(), 2);
            tokio::time::sleep(rests * SECOND - 2 * MS).await;
            for _ in 0..100 {
                assert_eq!(because(ask(&service, URL).await.0), Some(Because::FailedLately), "{says:?}");
            }
            assert_eq!(vendor.attempts(), 2, "{says:?} {status}");
            tokio::time::sleep(2 * MS).await;
            ask(&service, URL).await;
            assert_eq!(vendor.attempts(), 3, "{says:?} {status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_hangs_is_not_waited_for_by_each_in_turn() {
    let vendor = Vendor::counting("max-age=10");
    let service = layer().budget(5 * SECOND).layer(vendor.clone());
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(1_000_000 * SECOND);
    assert_eq!(because(ask(&service, URL).await.0), Some(Because::BudgetExhausted));
    assert_eq!((vendor.attempts(), vendor.in_flight()), (2, 1));
    // Kept for as long as a budget, and no longer.
    tokio::time::sleep(5 * SECOND + MS).await;
    assert_eq!((vendor.attempts(), vendor.in_flight()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_an_attempt_that_nobody_waits_for_ends_after_a_minute() {
    for cache_control in ["max-age=10", "max-age=10, stale-while-revalidate=600"] {
        let vendor = Vendor::counting(cache_control);
        let service = with(StalePolicy::new().patience(100 * MS), &vendor);
        ask(&service, URL).await;
        tokio::time::sleep(20 * SECOND).await;
        vendor.takes(1_000_000 * SECOND);
        assert!(matches!(ask(&service, URL).await.0, Served::Stale { .. }));
        tokio::time::sleep(59 * SECOND).await;
        assert_eq!((vendor.attempts(), vendor.in_flight()), (2, 1));
        tokio::time::sleep(2 * SECOND).await;
        assert_eq!((vendor.attempts(), vendor.in_flight()), (2, 0), "{cache_control}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_time_is_short_leaves_the_attempt_to_the_next() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(SECOND);
    let mut hasty = get(URL);
    hasty.extensions_mut().insert(forbear::Budget::within(100 * MS));
    assert_eq!(because(served(&send(&service, hasty).await)), Some(Because::BudgetExhausted));
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_who_insists_on_a_new_answer_takes_the_old_from_nobody() {
    for bad in [true, false] {
        let vendor = Vendor::counting("max-age=10");
        let service = service(&vendor);
        ask(&service, URL).await;
        tokio::time::sleep(20 * SECOND).await;
        vendor.takes(SECOND);
        vendor.now(move |_| if bad { Ok(answer(503, &[], "down")) } else { Err(Fault("no connection")) });
        let mut insists = get(URL);
        insists.headers_mut().insert(CACHE_CONTROL, "no-cache".parse().unwrap());
        let insisting = tokio::spawn(service.clone().oneshot(insists));
        settle().await;
        let (served, text) = ask(&service, URL).await;
        let expected = if bad { Because::ServerError } else { Because::Faulted };
        assert_eq!((because(served), text.as_str()), (Some(expected), "1"));
        match insisting.await.unwrap() {
            Ok(told) => assert_eq!((bad, told.status().as_u16()), (true, 503)),
            Err(error) => assert!(!bad, "{error:?}"),
        }
        assert_eq!(vendor.attempts(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_304_about_something_else_is_no_answer() {
    let vendor = Vendor::new(|request| match request.headers().get(IF_NONE_MATCH) {
        Some(_) => Ok(answer(304, &[("etag", "\"other\"")], "")),
        None => Ok(ok(&[("etag", "\"v1\""), ("cache-control", "max-age=10")], "whole")),
    });
    let service = service(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    let (served, text) = ask(&service, URL).await;
    assert_eq!((because(served), text.as_str()), (Some(Because::ServerError), "whole"));
}

#[tokio::test(start_paused = true)]
async fn who_asks_alone_has_the_same_time_and_what_is_stored() {
    // The first answer is stored, the next ones are nobody else's.
    let vendor = Vendor::counting("max-age=10");
    let service = layer().budget(3 * SECOND).layer(vendor.clone());
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(SECOND);
    let mut asked = 0;
    vendor.now(move |_| {
        asked += 1;
        Ok(if asked == 1 { ok(&[("cache-control", "no-store")], "mine") } else { answer(503, &[], "down") })
    });
    let (mine, other) = tokio::join!(ask(&service, URL), ask(&service, URL));
    assert_eq!(mine, (Served::Live, "mine".into()));
    assert_eq!((because(other.0), other.1.as_str()), (Some(Because::ServerError), "1"));
    // Nothing is stored there, and the second attempt hangs.
    let (vendor, begun) = (Vendor::counting("no-store"), tokio::time::Instant::now());
    vendor.takes(2 * SECOND);
    let service = layer().budget(3 * SECOND).layer(vendor.clone());
    let mut alone = Box::pin(service.clone().oneshot(get(URL)));
    let (_, late) = tokio::join!(ask(&service, URL), &mut alone);
    assert!(matches!(late, Err(forbear::Error::BudgetExhausted(_))), "{late:?}");
    assert_eq!(begun.elapsed(), 3 * SECOND);
}
