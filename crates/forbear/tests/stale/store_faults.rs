//! A store behind memory that fails, hangs, panics or is slow, and callers that go.

use crate::scripted::{Mood, Scripted};
use crate::store::process;
use crate::vendor::{answer, ok};
use crate::*;

/// A store with an answer to `URL`, that is fresh for a minute.
async fn filled() -> Scripted {
    let store = Scripted::new();
    let service = process(&Vendor::counting("max-age=60"), &store);
    ask(&service, URL).await;
    service.stored().await.unwrap();
    store
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_ask_for_what_the_store_has_make_one_look_and_no_attempt() {
    let store = filled().await;
    let looked = store.finds();
    store.is(Mood::Slow(20 * MS));
    let vendor = Vendor::counting("max-age=60");
    let service = process(&vendor, &store);
    let asked: Vec<_> = (0..10_000)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { ask(&service, URL).await })
        })
        .collect();
    for one in asked {
        assert_eq!(one.await.unwrap(), (Served::Fresh, "1".into()));
    }
    assert_eq!((store.finds() - looked, vendor.attempts()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_ask_for_what_the_store_has_not_make_one_look_and_one_attempt() {
    let store = Scripted::new();
    store.is(Mood::Slow(20 * MS));
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(100 * MS);
    let service = process(&vendor, &store);
    let mut asked = Vec::new();
    for number in 0..10_000 {
        // Some come while it is read, some while it is asked for.
        if number % 2_000 == 0 {
            tokio::time::sleep(15 * MS).await;
        }
        let service = service.clone();
        asked.push(tokio::spawn(async move { ask(&service, URL).await }));
    }
    for one in asked {
        assert_eq!(one.await.unwrap(), (Served::Live, "1".into()));
    }
    assert_eq!((store.finds(), vendor.attempts()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_costs_one_request_50_ms_and_the_next_nothing() {
    let store = filled().await;
    store.is(Mood::Hangs);
    let vendor = Vendor::counting("max-age=60");
    let service = process(&vendor, &store);
    let begun = tokio::time::Instant::now();
    assert_eq!(ask(&service, URL).await, (Served::Live, "1".into()));
    assert_eq!(begun.elapsed(), 50 * MS);
    for number in 0..100 {
        ask(&service, &format!("{URL}?{number}")).await;
    }
    assert_eq!(begun.elapsed(), 50 * MS);
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "1".into()));
}

/// What may not be stored is asked for again and again.
#[tokio::test(start_paused = true)]
async fn what_the_store_has_not_is_looked_for_once() {
    let store = Scripted::new();
    let vendor = Vendor::counting("no-store");
    let service = process(&vendor, &store);
    for _ in 0..100 {
        assert_eq!(ask(&service, URL).await.0, Served::Live);
    }
    assert_eq!((store.finds(), vendor.attempts()), (1, 100));
}

/// After a restart, each for something else, of a store that takes its time.
#[tokio::test(start_paused = true)]
async fn a_crowd_that_comes_at_once_is_no_fault_of_the_store() {
    let store = Scripted::new();
    let url = |number: u32| format!("{URL}?{number}");
    let first = process(&Vendor::counting("max-age=60"), &store);
    for number in 0..2_000 {
        ask(&first, &url(number)).await;
    }
    first.stored().await.unwrap();
    store.is(Mood::Slow(5 * MS));
    let vendor = Vendor::counting("max-age=60");
    let service = process(&vendor, &store);
    let begun = tokio::time::Instant::now();
    let asked: Vec<_> = (0..2_000)
        .map(|number| {
            let (service, url) = (service.clone(), url(number));
            tokio::spawn(async move { ask(&service, &url).await.0 })
        })
        .collect();
    let mut fresh = 0;
    for one in asked {
        fresh += usize::from(one.await.unwrap() == Served::Fresh);
    }
    // 16 in each 5 ms.
    assert_eq!((fresh, vendor.attempts()), (2_000, 0));
    assert!((625 * MS..650 * MS).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    // It is in use still.
    let finds = store.finds();
    let next = ask(&service, "http://vendor.test/other").await;
    assert_eq!((next.0, store.finds()), (Served::Live, finds + 1));
}

/// While the store answers others, but not in time for all.
#[tokio::test(start_paused = true)]
async fn who_stands_behind_a_crowd_goes_on_after_a_second_or_half_of_its_budget() {
    let store = filled().await;
    store.is(Mood::Slow(40 * MS));
    let vendor = Vendor::counting("max-age=60");
    let service = process(&vendor, &store);
    let begun = tokio::time::Instant::now();
    let asked = (0..1_000).map(|number| {
        let service = service.clone();
        let mut request = get(&format!("{URL}?{number}"));
        let short = number >= 990;
        if short {
            request.extensions_mut().insert(forbear::Budget::within(200 * MS));
        }
        tokio::spawn(async move { (short, send(&service, request).await.status(), begun.elapsed()) })
    });
    for one in asked.collect::<Vec<_>>() {
        let (short, status, took) = one.await.unwrap();
        assert_eq!(status, 200);
        assert!(took <= if short { 102 * MS } else { SECOND + 2 * MS }, "{short}: {took:?}");
    }
    // 16 in each 40 ms.
    let looks = store.finds();
    assert!((380..=420).contains(&looks), "{looks}");
    // It is in use still.
    let next = ask(&service, URL).await;
    assert_eq!((next.0, vendor.attempts()), (Served::Fresh, 1_000));
}

/// A crowd does not wait behind those that the store does not answer.
#[tokio::test(start_paused = true)]
async fn a_crowd_before_a_store_that_hangs_waits_once() {
    let store = filled().await;
    store.is(Mood::Hangs);
    let service = process(&Vendor::counting("max-age=60"), &store);
    let begun = tokio::time::Instant::now();
    let asked: Vec<_> = (0..1_000)
        .map(|number| {
            let service = service.clone();
            tokio::spawn(async move { ask(&service, &format!("{URL}?{number}")).await.0 })
        })
        .collect();
    for one in asked {
        assert_eq!(one.await.unwrap(), Served::Live);
    }
    assert!(begun.elapsed() <= 52 * MS, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_or_panics_fails_no_request_is_asked_less_and_less_and_used_when_it_is_well() {
    for mood in [Mood::Fails, Mood::Panics, Mood::PanicsAtOnce] {
        let store = filled().await;
        let looked = store.finds();
        store.is(mood);
        let vendor = Vendor::counting("max-age=60");
        let service = process(&vendor, &store);
        for number in 0..1_000 {
            let (served, _) = ask(&service, &format!("{URL}?{number}")).await;
            assert_eq!(served, Served::Live, "{mood:?}");
            tokio::time::sleep(100 * MS).await;
        }
        // 100 s: after 100, 200, 400 ms and so on, up to 30 s.
        let looks = store.finds() - looked;
        assert!((9..=12).contains(&looks), "{mood:?}: {looks}");
        assert!(service.stored().await.is_err());
        store.is(Mood::Well);
        tokio::time::sleep(31 * SECOND).await;
        vendor.now(|_| Ok(answer(503, &[], "down")));
        let (served, text) = ask(&service, URL).await;
        assert_eq!((because(served), text.as_str()), (Some(Because::ServerError), "1"), "{mood:?}");
    }
}

/// All who asked it at that moment were told the same fault.
#[tokio::test(start_paused = true)]
async fn a_short_fault_that_many_looks_meet_at_once_is_one_fault() {
    let store = filled().await;
    store.is(Mood::Hangs);
    let vendor = Vendor::counting("max-age=60");
    let service = process(&vendor, &store);
    let asked = (0..60).map(|number| {
        let service = service.clone();
        async move { ask(&service, &format!("{URL}?{number}")).await }
    });
    futures_util::future::join_all(asked).await;
    store.is(Mood::Well);
    tokio::time::sleep(101 * MS).await;
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "1".into()));
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_written_is_written_when_the_store_is_well() {
    let store = Scripted::new();
    store.is(Mood::Fails);
    let vendor = Vendor::counting("max-age=600");
    let service = process(&vendor, &store);
    for number in 0..100 {
        ask(&service, &format!("{URL}?{number}")).await;
    }
    assert!(service.stored().await.is_err());
    store.is(Mood::Well);
    tokio::time::sleep(31 * SECOND).await;
    service.stored().await.unwrap();
    let next = process(&vendor, &store);
    for number in 0..100 {
        assert_eq!(ask(&next, &format!("{URL}?{number}")).await.0, Served::Fresh);
    }
    assert_eq!(vendor.attempts(), 100);
}

/// 64 MiB, of which 8 wait at most, and the newest of each URL is what the next process has, or nothing.
#[tokio::test(start_paused = true)]
async fn answers_that_come_faster_than_the_store_writes_cost_no_more_than_themselves() {
    let store = Scripted::new();
    let vendor = Vendor::new(|request| {
        let round = request.uri().query().unwrap();
        Ok(ok(&[("cache-control", "max-age=0")], &round.repeat(100_000)))
    });
    let service = layer().store(store.clone()).layer(vendor.clone());
    let url = |number: u32| format!("http://vendor.test/{number}?a");
    for number in 0..40 {
        ask(&service, &url(number)).await;
    }
    service.stored().await.unwrap();
    let kept = store.kept().await;
    store.is(Mood::Hangs);
    vendor.now(|_| Ok(ok(&[("cache-control", "max-age=0")], &"b".repeat(100_000))));
    for _ in 0..16 {
        for number in 0..40 {
            ask(&service, &url(number)).await;
        }
    }
    store.is(Mood::Well);
    tokio::time::sleep(60 * SECOND).await;
    service.stored().await.unwrap();
    vendor.now(|_| Ok(answer(503, &[], "down")));
    let next = process(&vendor, &store);
    for number in 0..40 {
        let (_, text) = ask(&next, &url(number)).await;
        assert!(text.starts_with('b') || text == "down", "{number}: {}", &text[..4]);
    }
    assert_eq!(kept, 40);
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_budget_ends_before_the_look_does_waits_no_longer() {
    let store = filled().await;
    store.is(Mood::Hangs);
    let service = process(&Vendor::counting("max-age=60"), &store);
    let mut request = get(URL);
    request.extensions_mut().insert(forbear::Budget::within(10 * MS));
    let begun = tokio::time::Instant::now();
    let ended = service.oneshot(request).await;
    assert!(begun.elapsed() <= 12 * MS, "{:?}: {ended:?}", begun.elapsed());
}

/// Whenever a caller goes, the others are served and the store is asked no more than once more.
#[tokio::test(start_paused = true)]
async fn callers_that_go_at_any_moment_harm_nobody() {
    for leaves_after in 0..30 {
        let store = filled().await;
        let looked = store.finds();
        store.is(Mood::Slow(10 * MS));
        let vendor = Vendor::counting("max-age=60");
        vendor.takes(10 * MS);
        let service = process(&vendor, &store);
        for url in [URL, "http://vendor.test/other"] {
            let first = tokio::spawn({
                let service = service.clone();
                async move { ask(&service, url).await }
            });
            tokio::task::yield_now().await;
            let others: Vec<_> = (0..10)
                .map(|_| {
                    let service = service.clone();
                    tokio::spawn(async move { ask(&service, url).await })
                })
                .collect();
            tokio::time::sleep(leaves_after * MS).await;
            first.abort();
            for other in others {
                assert_eq!(other.await.unwrap().1, "1");
            }
        }
        assert_eq!((store.finds() - looked, vendor.attempts()), (2, 1), "{leaves_after}");
    }
}

/// Polled so often, and then dropped.
async fn dropped_after<F: Future>(polls: usize, future: F) -> bool {
    let mut future = Box::pin(future);
    let mut left = polls;
    std::future::poll_fn(move |cx| {
        if left == 0 {
            return std::task::Poll::Ready(false);
        }
        left -= 1;
        future.as_mut().poll(cx).map(|_| true)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_after_any_poll_leaves_nothing_behind() {
    for url in [URL, "http://vendor.test/other"] {
        for polls in 0.. {
            let store = filled().await;
            let looked = store.finds();
            store.is(Mood::Slow(10 * MS));
            let vendor = Vendor::counting("max-age=60");
            vendor.takes(10 * MS);
            let service = process(&vendor, &store);
            let done = dropped_after(polls, ask(&service, url)).await;
            // Nobody waits for the look that was begun, nor is it made once more.
            tokio::time::sleep(100 * MS).await;
            let attempts = vendor.attempts();
            assert!(attempts <= usize::from(url != URL) && vendor.in_flight() == 0, "{url} {polls}");
            assert_eq!(ask(&service, url).await.1.len(), 1);
            assert_eq!(ask(&service, url).await.0, Served::Fresh, "{url} {polls}");
            assert!(store.finds() - looked <= 1 && vendor.attempts() <= attempts + 1, "{url} {polls}");
            if done {
                assert!(polls > 1);
                break;
            }
        }
    }
}

/// The runtime that wrote ends in the middle of it.
#[test]
fn a_runtime_that_ends_leaves_what_it_did_not_write_to_the_next() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let store = Scripted::new();
    let service = process(&Vendor::counting("max-age=60"), &store);
    store.is(Mood::Hangs);
    runtime().block_on(async {
        ask(&service, URL).await;
        settle().await;
    });
    assert_eq!(store.puts(), 1);
    store.is(Mood::Well);
    runtime().block_on(async {
        service.stored().await.unwrap();
        assert_eq!(store.kept().await, 1);
    });
}

/// Until it ended nothing was read.
#[tokio::test(start_paused = true)]
async fn a_purge_that_hangs_is_given_up_and_the_store_is_read_again() {
    let store = filled().await;
    let vendor = Vendor::counting("max-age=60");
    let service = process(&vendor, &store);
    store.is(Mood::Hangs);
    let begun = tokio::time::Instant::now();
    let purge = service.purge(forbear::stale::PurgeResponses::Family("other".into()));
    let purged = tokio::time::timeout(100 * SECOND, purge).await;
    assert!(matches!(purged, Ok(Err(_))), "{purged:?}");
    assert_eq!(begun.elapsed(), 60 * SECOND);
    store.is(Mood::Well);
    assert_eq!(because(ask(&service, URL).await.0), None);
    vendor.now(|_| Ok(answer(503, &[], "down")));
    let other = process(&vendor, &store);
    assert_eq!(ask(&other, URL).await.1, "1");
}

/// As a program that ends asks, for which nobody waits half a minute.
#[tokio::test(start_paused = true)]
async fn who_waits_for_what_is_to_be_written_has_it_tried_at_once() {
    let store = Scripted::new();
    store.is(Mood::Fails);
    let service = process(&Vendor::counting("max-age=60"), &store);
    ask(&service, URL).await;
    tokio::time::sleep(300 * SECOND).await;
    let begun = tokio::time::Instant::now();
    for _ in 0..10 {
        assert!(service.stored().await.is_err());
    }
    store.is(Mood::Well);
    service.stored().await.unwrap();
    assert_eq!((begun.elapsed(), store.kept().await), (Duration::ZERO, 1));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_is_given_up_when_nobody_is_left() {
    for mood in [Mood::Fails, Mood::Hangs] {
        let store = Scripted::new();
        store.is(mood);
        let service = process(&Vendor::counting("max-age=60"), &store);
        ask(&service, URL).await;
        tokio::time::sleep(300 * SECOND).await;
        drop(service);
        // Whatever was begun ends, and is tried once more.
        tokio::time::sleep(60 * SECOND).await;
        let puts = store.puts();
        assert_eq!(store.holders(), 1, "{mood:?}");
        tokio::time::sleep(3_600 * SECOND).await;
        assert_eq!(store.puts(), puts, "{mood:?}");
    }
    // Where it can, all of it is.
    let store = Scripted::new();
    store.is(Mood::Slow(SECOND));
    let service = process(&Vendor::counting("max-age=60"), &store);
    for number in 0..200 {
        ask(&service, &format!("{URL}?{number}")).await;
    }
    drop(service);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((store.kept().await, store.holders()), (200, 1));
}
