use std::time::Duration;

use forbear::refresh::StoreFault;
use forbear::{Operator, Source};
use forbear_mock::{MockVendor, reply};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn health_says_what_is_due_what_is_skipped_and_for_how_long() {
    let mock = MockVendor::in_process()
        .script([
            reply(200).times(2),
            reply(429).retry_after(238).json_text(r#"{"reason":"inflight_limit"}"#),
        ])
        .route("/news", reply(500));
    let (families, shelf) = (families(&["yahoo", "news"]), Shelf::new());
    let refresh = forbear::Refresh::builder(vendor(&families, &mock), TestStore::new())
        .source(shelved(Source::new("yahoo.quote").family("yahoo").every(HOUR).jitter(0.0), &shelf))
        .source(shelved(Source::new("news").family("news").max_attempts(1), &shelf))
        .build()
        .unwrap();
    assert_eq!(refresh.health().await.to_string(), "yahoo.quote  nothing due\nnews         nothing due");
    refresh.demand("yahoo.quote", numbered(10)).await.unwrap();
    refresh.demand("news", ["news"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(20 * SECOND).await;
    let health = refresh.health().await;
    let lines = "yahoo.quote  8 due, skipped  oldest due 20s ago\n\
                 news         1 failed  nothing due\n\
                 yahoo paused 4 min (429 inflight_limit)";
    assert_eq!(health.to_string(), lines);
    let json = serde_json::to_value(&health).unwrap();
    assert_eq!(json["running"], true);
    assert_eq!(json["sources"][0]["skipped"], 8);
    assert_eq!(json["sources"][0]["oldest_due_ms"], 20_000);
    assert_eq!(json["sources"][1]["failed"], 1);
    assert_eq!(json["paused"][0]["phase"], "cooling");
    assert_eq!(json["paused"][0]["remaining_ms"], 218_200);
    assert!(json["wake_in_ms"].as_u64().unwrap() >= 218_200, "{json}");
    assert_eq!(json["degraded"], serde_json::Value::Null);
    running.stop().await;
    assert!(!refresh.health().await.running);
}

#[tokio::test(start_paused = true)]
async fn health_names_the_operator_and_what_is_gone() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", ["A"]).await.unwrap();
    world.families.pause("quotes", Operator::new("alice", "contract ended")).unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let said = refresh.health().await.to_string();
    assert!(said.ends_with("quotes paused (by alice: contract ended)"), "{said}");
    world.families.remove("quotes").unwrap();
    let said = refresh.health().await.to_string();
    assert!(said.ends_with("quotes paused (not registered)"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn health_of_a_store_that_is_gone_is_what_was_known_last() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", numbered(7)).await.unwrap();
    assert_eq!(refresh.health().await.sources[0].due, 7);
    world.store.is_gone(true);
    let health = refresh.health().await;
    assert_eq!((health.sources[0].due, health.degraded), (7, Some(StoreFault::Unavailable)));
    assert!(health.to_string().starts_with("degraded: the store is unavailable\n"), "{health}");
    world.store.is_gone(false);
    world.store.hangs(true);
    let health = refresh.health().await;
    assert_eq!((health.sources[0].due, health.degraded), (7, Some(StoreFault::TimedOut)));
}
