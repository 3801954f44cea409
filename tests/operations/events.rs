//! The events are as `docs/operations.md` lists them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forbear::{
    BudgetLayer, CooldownStore, Families, Family, MemoryCooldowns, NoWait, Operator, StoreError, StoreFault,
};
use forbear_core::store::{CooldownEntry, CooldownKey, Loaded, StoreFuture};
use forbear_core::work::Stamp;
use forbear_mock::{MockVendor, reply};
use forbear_tests::logs::{Logged, Logs};
use http::Request;
use http_body_util::Full;
use tower::Layer;

use crate::documented::{listed, table};

/// An event as a line: level, name, fields.
fn line(level: &str, name: &str, fields: &[&str]) -> String {
    format!("{level} {name}: {}", fields.join(", "))
}

fn seen(event: &Logged) -> String {
    let mut fields: Vec<_> = event.declared.iter().copied().filter(|name| *name != "message").collect();
    fields.sort_unstable();
    line(event.level.as_str(), event.field("message"), &fields)
}

/// Everything that forbear has to tell happens once.
async fn everything(families: &Families) {
    let mock = MockVendor::in_process()
        .script(reply(200))
        .route("/chart", [reply(429).retry_after(5), reply(200)])
        .route("/dead", reply(429).retry_after(1));
    let get = |path: &str| {
        let url = format!("http://quotes.test{path}");
        let mut request = Request::get(url).body(Full::<bytes::Bytes>::default()).unwrap();
        request.extensions_mut().insert(NoWait);
        request
    };
    families.on_signal(|_| std::panic::resume_unwind(Box::new("a listener's fault")));
    let vendor = forbear::stack(families).service(mock.service());
    let _ = vendor.send(get("/chart")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let _ = vendor.send(get("/chart")).await.unwrap();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let _ = vendor.send(get("/well")).await.unwrap();
        let _ = vendor.send(get("/dead")).await.unwrap();
    }
    families.pause("quotes", Operator::new("alice", "why not")).unwrap();
    families.shutdown();
    let _ = BudgetLayer::new(Duration::from_secs(1)).layer(vendor);
}

/// A store that is away, and comes back.
#[derive(Debug, Clone, Default)]
struct Flaky(MemoryCooldowns, Arc<AtomicBool>);

impl Flaky {
    fn here<'a, T: Send + 'a>(&self, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if self.1.load(Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::new(StoreFault::Unavailable, "keep cool-downs")) });
        }
        answer
    }
}

impl CooldownStore for Flaky {
    fn name(&self) -> &'static str {
        "flaky"
    }

    fn load(&self, now: Stamp) -> StoreFuture<'_, Loaded> {
        self.here(self.0.load(now))
    }

    fn save(&self, entries: Vec<CooldownEntry>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        self.here(self.0.save(entries, now))
    }

    fn look_up(&self, keys: Vec<CooldownKey>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        self.here(self.0.look_up(keys, now))
    }
}

/// Everything that there is to tell of a store.
async fn stores() {
    let store = Flaky::default();
    let build = || Families::builder().family(Family::new("news")).store(store.clone()).build().unwrap();
    let families = build();
    families.pause("news", Operator::new("alice", "why not")).unwrap();
    families.stored().await.unwrap();
    store.1.store(true, Ordering::Relaxed);
    let families = build();
    let _ = families.loaded().await.unwrap_err();
    store.1.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(60)).await;
    store.1.store(true, Ordering::Relaxed);
    families.resume("news", Operator::new("alice", "why not")).unwrap();
    drop(families);
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn every_event_has_the_documented_name_level_and_fields() {
    let logs = Logs::catch();
    let families = Families::builder().family(Family::new("quotes").host("quotes.test")).build().unwrap();
    everything(&families).await;
    stores().await;
    let told: BTreeSet<_> = logs.all().iter().map(seen).collect();
    let documented: BTreeSet<_> =
        table("event").iter().map(|row| line(&row[1], &row[0], &listed(&row[3]))).collect();
    assert_eq!(told, documented);
    let fields: BTreeSet<_> = table("field").into_iter().map(|row| row[0].clone()).collect();
    let told = told.iter().flat_map(|line| listed(line.split_once(": ").unwrap().1)).collect::<BTreeSet<_>>();
    assert!(fields.iter().all(|field| told.contains(field.as_str())), "{fields:?} are fields of {told:?}");
}
