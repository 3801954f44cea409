//! A refresh that fills the store, and requests that are answered from it alone.

use forbear::refresh::NotTaken;
use forbear::stale::{DemandService, Fallback};
use forbear::{Error, Families, Family, MemoryWorkStore, Refresh, Source};
use http::header::{CACHE_CONTROL, IF_NONE_MATCH};

use crate::vendor::{Fault, answer, ok};
use crate::*;

const MAX_AGE: &str = "max-age=100";

fn families(policy: StalePolicy) -> Families {
    let quotes = Family::new("quotes").host("vendor.test").stale(policy);
    Families::builder().family(quotes).build().unwrap()
}

fn of(families: &Families, vendor: &Vendor) -> StaleService<Vendor> {
    layer().families(families).layer(vendor.clone())
}

fn quotes() -> Source {
    Source::new("quotes").family("quotes").every(90 * SECOND).jitter(0.0)
}

fn refresh(families: &Families, service: &StaleService<Vendor>, quotes: Source) -> Refresh {
    let quotes = quotes
        .fetch(|key| Request::get(format!("http://vendor.test/{key}")).body(Body::default()))
        .store(|_, _| async { Ok::<_, Fault>(()) });
    Refresh::over(families, service.filling(), MemoryWorkStore::new()).source(quotes).build().unwrap()
}

fn local(service: &StaleService<Vendor>, refresh: &Refresh) -> DemandService<Vendor> {
    service
        .demanding(refresh, "quotes", |head| {
            let key = head.uri.path().strip_prefix('/')?;
            (key != "live").then(|| key.to_owned())
        })
        .unwrap()
}

fn run(refresh: &Refresh) -> tokio::task::JoinHandle<()> {
    let refresh = refresh.clone();
    tokio::spawn(async move { refresh.run(std::future::pending()).await })
}

#[tokio::test(start_paused = true)]
async fn a_miss_is_demanded_and_never_asked_for() {
    let vendor = Vendor::counting(MAX_AGE);
    let families = families(StalePolicy::new());
    let service = of(&families, &vendor);
    let refresh = refresh(&families, &service, quotes());
    let local = local(&service, &refresh);
    for _ in 0..1000 {
        let error = local.clone().oneshot(get(URL)).await.unwrap_err();
        let Error::NotStored(missing) = &error else { panic!("{error:?}") };
        assert_eq!((missing.family(), missing.demanded_of()), ("quotes", "quotes"));
        assert_eq!((error.is_refusal(), error.status().as_u16(), error.reason()), (true, 503, "not-stored"));
        assert_eq!(error.family(), Some("quotes"));
    }
    settle().await;
    assert_eq!(vendor.attempts(), 0, "nobody refreshes yet");
    let row = refresh.row("quotes", "a").await.unwrap().unwrap();
    assert_eq!(refresh.health().await.sources[0].waiting, 1, "{row:?}");
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask(&local, URL).await, (Served::Fresh, "1".into()));
    assert_eq!(vendor.attempts(), 1);
    // For as long as it is demanded it is there.
    for round in 2..10_u32 {
        tokio::time::sleep(90 * SECOND).await;
        let (served, text) = ask(&local, URL).await;
        assert!(matches!(served, Served::Fresh), "{served:?} in round {round}");
        assert_eq!(text, vendor.attempts().to_string());
    }
    assert!((8..=10).contains(&vendor.attempts()), "{}", vendor.attempts());
    running.abort();
    // What names no key is as before.
    assert!(matches!(ask(&local, "http://vendor.test/live").await.0, Served::Live));
}

#[tokio::test(start_paused = true)]
async fn an_old_answer_is_served_and_what_is_demanded_already_is_wanted_now() {
    let vendor = Vendor::counting("max-age=10");
    let families = families(StalePolicy::new().max_stale(60 * SECOND));
    let service = of(&families, &vendor);
    let refresh = refresh(&families, &service, quotes().every(3600 * SECOND));
    let local = local(&service, &refresh);
    let running = run(&refresh);
    assert!(local.clone().oneshot(get(URL)).await.is_err());
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask(&local, URL).await, (Served::Fresh, "1".into()));
    tokio::time::sleep(20 * SECOND).await;
    let (served, text) = ask(&local, URL).await;
    assert_eq!((because(served), text.as_str()), (Some(Because::Demanded), "1"));
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask(&local, URL).await, (Served::Fresh, "2".into()));
    // Who wants it confirmed is not served what is old, nor does he make an attempt.
    let mut insists = get(URL);
    insists.headers_mut().insert(CACHE_CONTROL, "no-cache".parse().unwrap());
    assert!(matches!(local.clone().oneshot(insists).await, Err(Error::NotStored(_))));
    running.abort();
    tokio::time::sleep(100 * SECOND).await;
    assert!(matches!(local.clone().oneshot(get(URL)).await, Err(Error::NotStored(_))), "too old");
}

#[tokio::test(start_paused = true)]
async fn the_fallback_stands_in_until_it_is_there() {
    let vendor = Vendor::counting(MAX_AGE);
    let families = families(StalePolicy::new().fallback(Fallback::json("[]")));
    let service = of(&families, &vendor);
    let refresh = refresh(&families, &service, quotes());
    let local = local(&service, &refresh);
    assert_eq!(ask(&local, URL).await, (Served::Fallback { because: Because::Demanded }, "[]".into()));
    let _running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    assert_eq!(ask(&local, URL).await, (Served::Fresh, "1".into()));
    let served = families.health().family("quotes").unwrap().stale.clone().unwrap();
    assert_eq!((served.fallbacks, served.fresh, served.live, served.entries), (1, 1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_demand_is_made_at_most_once_in_a_gap() {
    let vendor = Vendor::counting("no-store");
    let families = families(StalePolicy::new().retry_gap(10 * SECOND));
    let service = of(&families, &vendor);
    let refresh = refresh(&families, &service, quotes());
    let (local, _running) = (local(&service, &refresh), run(&refresh));
    // It is never stored, so each request misses.
    for _ in 0..100 {
        assert!(local.clone().oneshot(get(URL)).await.is_err());
        tokio::time::sleep(SECOND).await;
    }
    assert!((9..=11).contains(&vendor.attempts()), "{}", vendor.attempts());
}

#[tokio::test(start_paused = true)]
async fn a_fill_is_answered_by_the_vendor_and_never_by_what_is_old() {
    let vendor = Vendor::counting("max-age=100, stale-if-error=1000");
    let families = families(StalePolicy::new().fallback(Fallback::json("[]")));
    let service = of(&families, &vendor);
    let fills = service.filling();
    assert_eq!(ask(&fills, URL).await, (Served::Live, "1".into()));
    assert_eq!(ask(&fills, URL).await, (Served::Live, "2".into()), "also where it is fresh");
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
    vendor.now(|_| Ok(answer(503, &[], "down")));
    assert_eq!(send(&fills, get(URL)).await.status(), 503);
    vendor.now(|_| Err(Fault("no connection")));
    assert!(fills.clone().oneshot(get(URL)).await.is_err());
    assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()), "the good one stays");
    vendor.now(|_| Ok(ok(&[("cache-control", "no-store")], "secret")));
    assert_eq!(ask(&fills, URL).await, (Served::Live, "secret".into()));
    let served = families.health().family("quotes").unwrap().stale.clone().unwrap();
    assert_eq!((served.live, served.refused, served.fresh), (0, 0, 2), "nobody waited for these");
}

#[tokio::test(start_paused = true)]
async fn a_fill_confirms_what_is_stored_and_hands_it_on_whole() {
    let vendor = Vendor::new(|request| match request.headers().get(IF_NONE_MATCH) {
        Some(tag) if tag == "\"v1\"" => {
            Ok(answer(304, &[("etag", "\"v1\""), ("cache-control", MAX_AGE)], ""))
        }
        Some(tag) => panic!("{tag:?}"),
        None => Ok(ok(&[("etag", "\"v1\""), ("cache-control", MAX_AGE)], "whole")),
    });
    let service = service(&vendor);
    let fills = service.filling();
    ask(&fills, URL).await;
    let mut conditional = get(URL);
    conditional.headers_mut().insert(IF_NONE_MATCH, "\"v1\"".parse().unwrap());
    let confirmed = send(&fills, conditional).await;
    assert_eq!((confirmed.status().as_u16(), text(confirmed).await.as_str()), (200, "whole"));
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_fill_and_a_request_for_the_same_make_one_attempt() {
    let vendor = Vendor::counting(MAX_AGE);
    vendor.takes(SECOND);
    let service = service(&vendor);
    let fills = service.filling();
    let (asked, filled) = tokio::join!(ask(&service, URL), ask(&fills, URL));
    assert_eq!((asked.1.as_str(), filled.1.as_str(), vendor.attempts()), ("1", "1", 1));
    // One that is refused to the filler is no reason to take the old answer from who follows it.
    tokio::time::sleep(200 * SECOND).await;
    vendor.now(|_| Ok(answer(429, &[("retry-after", "5")], "no")));
    let filling = tokio::spawn(async move { send(&fills, get(URL)).await.status().as_u16() });
    settle().await;
    assert_eq!(because(ask(&service, URL).await.0), Some(Because::Limited));
    assert_eq!((filling.await.unwrap(), vendor.attempts()), (429, 2));
}

/// A refresh waits for no cool-down, and takes no interactive caller's patience with it.
#[tokio::test(start_paused = true)]
async fn who_follows_one_that_does_not_wait_waits_as_long_as_ever() {
    for limited_first in [true, false] {
        let vendor = Vendor::counting(MAX_AGE);
        let families = families(StalePolicy::new());
        let client = {
            let vendor = vendor.clone();
            tower::service_fn(move |request: Request<forbear::Replay<Body>>| {
                vendor.clone().oneshot(request.map(vendor::boxed))
            })
        };
        let service = forbear::stack(&families).budget(30 * SECOND).stale(layer()).service(client);
        vendor.now(|_| Ok(answer(429, &[("retry-after", "5")], "no")));
        if !limited_first {
            let post = Request::post(URL).body(vendor::body("x")).unwrap();
            let mut post = post;
            post.extensions_mut().insert(forbear::NoWait);
            assert_eq!(service.send(post).await.unwrap().status(), 429);
        }
        vendor.takes(SECOND);
        let begun = tokio::time::Instant::now();
        let mut hasty = get(URL);
        hasty.extensions_mut().insert(forbear::NoWait);
        let filling = tokio::spawn(service.filling().oneshot(hasty));
        tokio::task::yield_now().await;
        let asked: Vec<_> = (0..10)
            .map(|_| {
                let service = service.clone();
                tokio::spawn(async move { service.send(get(URL)).await.unwrap().status().as_u16() })
            })
            .collect();
        tokio::time::sleep(2 * SECOND).await;
        vendor.now(|_| Ok(ok(&[("cache-control", MAX_AGE)], "good")));
        for one in asked {
            assert_eq!(one.await.unwrap(), 200);
        }
        assert!((5 * SECOND..9 * SECOND).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        match filling.await.unwrap() {
            Ok(told) => assert_eq!((told.status().as_u16(), limited_first), (429, true)),
            Err(error) => assert!(matches!(error, Error::Cooling(_)) && !limited_first, "{error:?}"),
        }
        // The limited one, one for all who waited, which may have met the limit too.
        assert!(vendor.attempts() <= 3, "{}", vendor.attempts());
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_who_do_not_wait_are_told_by_one_attempt() {
    for fault in [false, true] {
        let vendor =
            Vendor::new(
                move |_| if fault { Err(Fault("no connection")) } else { Ok(answer(429, &[], "no")) },
            );
        vendor.takes(SECOND);
        let service = service(&vendor);
        let asked: Vec<_> = (0..1000)
            .map(|_| {
                let mut hasty = get(URL);
                hasty.extensions_mut().insert(forbear::NoWait);
                tokio::spawn(service.clone().oneshot(hasty))
            })
            .collect();
        for one in asked {
            assert_eq!(one.await.unwrap().is_err(), fault);
        }
        assert_eq!(vendor.attempts(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_not_there_is_said_at_once() {
    let vendor = Vendor::counting(MAX_AGE);
    let families = families(StalePolicy::new());
    let service = of(&families, &vendor);
    let refresh = refresh(&families, &service, quotes());
    let unknown = service.demanding(&refresh, "news", |_| None).err().unwrap();
    assert!(matches!(&unknown, NotTaken::UnknownSource(name) if &**name == "news"), "{unknown}");
    assert!(local(&service, &refresh).and("news", |_| None).is_err());
}

/// A request path that asks no vendor has something to serve after a restart.
#[tokio::test(start_paused = true)]
async fn what_was_filled_is_served_by_the_next_process_without_an_attempt() {
    let vendor = Vendor::counting(MAX_AGE);
    let store = forbear_core::store::MemoryResponses::new(1 << 20);
    let families = families(StalePolicy::new());
    let process = || {
        let service = layer().store(store.clone()).families(&families).layer(vendor.clone());
        let refresh = refresh(&families, &service, quotes());
        (service.clone(), local(&service, &refresh), refresh)
    };
    let (service, _, refresh) = process();
    refresh.demand("quotes", ["a"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    service.stored().await.unwrap();
    running.abort();
    let (_, local, _) = process();
    assert_eq!(ask(&local, URL).await, (Served::Fresh, "1".into()));
    tokio::time::sleep(200 * SECOND).await;
    let (_, local, _) = process();
    let (served, text) = ask(&local, URL).await;
    assert_eq!((because(served), text.as_str()), (Some(Because::Demanded), "1"));
    assert_eq!(vendor.attempts(), 1);
}

/// Who asks while it is being fetched is a reason for that one, and for no further one.
#[tokio::test(start_paused = true)]
async fn what_is_being_fetched_is_not_demanded_once_more() {
    let vendor = Vendor::counting("max-age=1000");
    vendor.takes(3 * SECOND);
    let families = families(StalePolicy::new());
    let service = of(&families, &vendor);
    let refresh = refresh(&families, &service, quotes().every(900 * SECOND));
    let (local, _running) = (local(&service, &refresh), run(&refresh));
    for _ in 0..60 {
        let _ = local.clone().oneshot(get(URL)).await;
        tokio::time::sleep(500 * MS).await;
    }
    assert_eq!(ask(&local, URL).await, (Served::Fresh, "1".into()));
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_hangs_or_panics_fails_no_request_and_holds_a_bounded_number_of_tasks() {
    for panics in [false, true] {
        let vendor = Vendor::counting(MAX_AGE);
        let families = families(StalePolicy::new().fallback(Fallback::json("[]")));
        let service = of(&families, &vendor);
        let queue = crate::queue::Stuck::new(panics);
        let quotes = quotes()
            .fetch(|key| Request::get(format!("http://vendor.test/{key}")).body(Body::default()))
            .store(|_, _| async { Ok::<_, Fault>(()) });
        let refresh =
            Refresh::over(&families, service.filling(), queue.clone()).source(quotes).build().unwrap();
        let local = local(&service, &refresh);
        let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = alive();
        for second in 0..300 {
            for key in 0..10 {
                let url = format!("http://vendor.test/{key}");
                assert_eq!(ask(&local, &url).await.1, "[]", "{second}");
            }
            assert!(alive() - before <= 10, "{} tasks", alive() - before);
            tokio::time::sleep(SECOND).await;
        }
        // One that hung is given up after half a minute; one that panicked is asked again after the gap.
        let expected = if panics { 2_990..=3_000 } else { 100..=110 };
        assert!(expected.contains(&queue.asked()), "{}", queue.asked());
        assert_eq!(vendor.attempts(), 0);
    }
}

/// Whatever else a caller says, it drives no attempt.
#[tokio::test(start_paused = true)]
async fn who_wants_a_part_or_nothing_stored_is_given_the_whole_that_is_there() {
    let vendor = Vendor::counting(MAX_AGE);
    let families = families(StalePolicy::new());
    let service = of(&families, &vendor);
    let refresh = refresh(&families, &service, quotes());
    let local = local(&service, &refresh);
    let asks = |name: &'static str, value: &str| {
        let mut request = get(URL);
        request.headers_mut().insert(name, value.parse().unwrap());
        request
    };
    let all = [("range", "bytes=0-1"), ("cache-control", "no-store"), ("upgrade", "websocket")];
    for (name, value) in all {
        let missed = local.clone().oneshot(asks(name, value)).await;
        assert!(matches!(missed, Err(Error::NotStored(_))), "{name}");
    }
    let _running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    for (name, value) in all {
        let whole = send(&local, asks(name, value)).await;
        assert_eq!((whole.status().as_u16(), served(&whole)), (200, Served::Fresh), "{name}");
        assert_eq!(text(whole).await, "1");
    }
    // A condition is the vendor's to judge.
    assert_eq!(served(&send(&local, asks("if-match", "\"1\"")).await), Served::Live);
}
