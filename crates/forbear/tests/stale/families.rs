//! Families with policies of their own.

use forbear::stale::{Fallback, PurgeResponses};
use forbear::{Families, Family, FamilyName};

use crate::vendor::{Fault, answer, ok};
use crate::*;

const NEWS: &str = "http://news.test/a";
const OTHER: &str = "http://other.test/a";

fn quotes(policy: StalePolicy) -> Family {
    Family::new("quotes").host("vendor.test").stale(policy)
}

fn families(policy: StalePolicy) -> Families {
    Families::builder().family(quotes(policy)).family(Family::new("news").host("news.test")).build().unwrap()
}

fn of(families: &Families, vendor: &Vendor) -> StaleService<Vendor> {
    let others = StalePolicy::new().max_stale(60 * SECOND).fallback(Fallback::json("\"others\""));
    layer().policy(others).families(families).layer(vendor.clone())
}

#[tokio::test(start_paused = true)]
async fn a_family_has_its_own_policy_whole_and_all_others_the_layers() {
    let vendor = Vendor::counting("max-age=10");
    let families = families(StalePolicy::new().max_stale(20 * SECOND));
    let service = of(&families, &vendor);
    for url in [URL, NEWS, OTHER] {
        ask(&service, url).await;
    }
    vendor.now(|_| Err(Fault("no connection")));
    tokio::time::sleep(29 * SECOND).await;
    for url in [URL, NEWS, OTHER] {
        assert_eq!(because(ask(&service, url).await.0), Some(Because::Faulted), "{url}");
    }
    tokio::time::sleep(2 * SECOND).await;
    // The layer's fallback is not the family's.
    assert!(service.clone().oneshot(get(URL)).await.is_err());
    for url in [NEWS, OTHER] {
        assert!(matches!(ask(&service, url).await.0, Served::Stale { .. }), "{url}");
    }
    tokio::time::sleep(40 * SECOND).await;
    for url in [NEWS, OTHER] {
        let (served, text) = ask(&service, url).await;
        assert_eq!((served, text.as_str()), (Served::Fallback { because: Because::Faulted }, "\"others\""));
    }
    // Named outright, whatever its host.
    let mut named = get("http://other.test/b");
    named.extensions_mut().insert(FamilyName::from_static("quotes"));
    assert!(service.clone().oneshot(named).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_family_that_is_replaced_has_its_new_policy_at_once_also_for_what_is_stored() {
    let vendor = Vendor::counting("max-age=10");
    let families = families(StalePolicy::new().max_stale(Duration::ZERO));
    let service = of(&families, &vendor);
    ask(&service, URL).await;
    vendor.now(|_| Err(Fault("no connection")));
    tokio::time::sleep(20 * SECOND).await;
    assert!(service.clone().oneshot(get(URL)).await.is_err());
    families.replace(quotes(StalePolicy::new())).unwrap();
    assert_eq!(ask(&service, URL).await.1, "1");
    families.remove("quotes").unwrap();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(ask(&service, URL).await.1, "\"others\"");
}

#[tokio::test(start_paused = true)]
async fn the_stack_tells_the_layer_of_its_families() {
    let vendor = Vendor::new(|_| Ok(answer(503, &[], "down")));
    let families = families(StalePolicy::new().fallback(Fallback::json("\"quotes\"")));
    let client = tower::service_fn(move |request: Request<forbear::Replay<Body>>| {
        vendor.clone().oneshot(request.map(vendor::boxed))
    });
    let service = forbear::stack(&families).budget(30 * SECOND).stale(layer()).service(client);
    let response = service.send(get(URL)).await.unwrap();
    assert_eq!(
        response.extensions().get(),
        Some(&Served::Fallback { because: Because::ServerError }),
        "an answer that is none"
    );
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "\"quotes\"");
    assert_eq!(service.send(get(NEWS)).await.unwrap().status(), 503);
}

#[tokio::test(start_paused = true)]
async fn health_says_what_is_stored_of_whom_and_what_was_served() {
    let vendor = Vendor::counting("max-age=10");
    let families = families(StalePolicy::new());
    let service = of(&families, &vendor);
    assert!(families.health().family("news").unwrap().stale.is_none());
    let url = |n: usize| format!("http://vendor.test/{n}");
    for n in 0..10 {
        ask(&service, &url(n % 5)).await;
    }
    ask(&service, OTHER).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.now(|_| Ok(ok(&[("cache-control", "no-store")], "x")));
    ask(&service, "http://vendor.test/x").await;
    vendor.now(|_| Err(Fault("no connection")));
    for _ in 0..2 {
        ask(&service, &url(0)).await;
    }
    assert!(service.clone().oneshot(get("http://vendor.test/y")).await.is_err());
    let told = families.health();
    let quotes = told.family("quotes").unwrap().stale.clone().unwrap();
    assert_eq!((quotes.entries, quotes.live, quotes.fresh, quotes.refused), (5, 6, 5, 1));
    assert!((5_000..50_000).contains(&quotes.bytes), "{}", quotes.bytes);
    assert_eq!(quotes.stale.into_iter().collect::<Vec<_>>(), [("failed-lately", 1), ("faulted", 1)]);
    let others = told.stale.unwrap();
    assert_eq!((others.entries, others.live), (1, 1));
    let json = serde_json::to_value(families.health()).unwrap();
    assert_eq!(json["families"][0]["stale"]["fresh"], 5);
    drop(service);
    settle().await;
    let left = families.health().family("quotes").unwrap().stale.clone().unwrap();
    assert_eq!((left.entries, left.bytes, left.live), (0, 0, 6), "what is gone is not stored any more");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_attempt_of_another_is_counted_once() {
    let vendor = Vendor::counting("max-age=10");
    vendor.takes(SECOND);
    let families = families(StalePolicy::new());
    let service = of(&families, &vendor);
    futures_util::future::join_all((0..10).map(|_| ask(&service, URL))).await;
    let quotes = families.health().family("quotes").unwrap().stale.clone().unwrap();
    assert_eq!((quotes.coalesced, quotes.live, quotes.entries), (9, 10, 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_replaced_or_purged_is_not_counted_as_stored_any_more() {
    let vendor = Vendor::counting("max-age=10");
    let families = families(StalePolicy::new());
    let service = of(&families, &vendor);
    let held = || {
        families
            .health()
            .family("quotes")
            .unwrap()
            .stale
            .clone()
            .map(|stale| (stale.entries, stale.bytes > 0))
    };
    for _ in 0..20 {
        ask(&service, URL).await;
        tokio::time::sleep(20 * SECOND).await;
    }
    assert_eq!((vendor.attempts(), held()), (20, Some((1, true))));
    assert_eq!(service.purge(PurgeResponses::All).await.unwrap(), 1);
    assert_eq!(held(), Some((0, false)));
    ask(&service, URL).await;
    assert_eq!(held(), Some((1, true)));
    // A change of what is stored.
    let change = Request::post(URL).body(Body::default()).unwrap();
    send(&service, change).await;
    assert_eq!(held(), Some((0, false)));
    // What makes room for others.
    let small = forbear::StaleLayer::memory(64 << 10).families(&families).layer(vendor.clone());
    for n in 0..1_000 {
        ask(&small, &format!("http://vendor.test/{n}")).await;
    }
    let (entries, _) = held().unwrap();
    assert!((1..100).contains(&entries), "{entries}");
}
