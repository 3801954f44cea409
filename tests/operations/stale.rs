//! Stored answers, as an operator sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use forbear::stale::{Fallback, PurgeResponses, StalePolicy};
use forbear::{Families, Family, MemoryWorkStore, Refresh, Source, StaleLayer};
use forbear_core::store::{
    FoundResponses, KeptResponses, MemoryResponses, ResponseKey, ResponseSecret, ResponseStore, StoreFuture,
    StoredResponse,
};
use forbear_core::work::Stamp;
use forbear_mock::{MockVendor, reply};
use forbear_tests::logs::Logs;
use http::Request;
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

use crate::documented::{listed, table_of};
use crate::scrape::Exporter;

const SECOND: Duration = Duration::from_secs(1);

fn get(url: &str) -> Request<Full<Bytes>> {
    Request::get(url).body(Full::default()).unwrap()
}

/// One who asks through a layer of its own.
pub(crate) async fn ask(families: &Families, url: &str) {
    let mock = MockVendor::in_process().script(reply(200));
    let service = forbear::stack(families).stale(StaleLayer::memory(1 << 20)).service(mock.service());
    let _ = service.send(get(url)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_scrape_says_what_was_served_of_whom_and_why() {
    let mock = MockVendor::in_process()
        .script(reply(200).header("cache-control", "max-age=10").body("good"))
        .route("/limited", reply(429).retry_after(60))
        .route("/mine", reply(200).header("cache-control", "no-store"));
    let quotes = StalePolicy::new().fallback(Fallback::of(|head| {
        (head.uri.path() == "/instead").then(|| http::Response::new(Bytes::from_static(b"[]")))
    }));
    let quotes = Family::new("quotes").host("quotes.test").stale(quotes);
    let families = Families::builder().family(quotes).build().unwrap();
    let (exporter, metrics) = (Exporter::new(), families.metrics());
    let service = forbear::stack(&families)
        .budget(30 * SECOND)
        .stale(StaleLayer::memory(1 << 20))
        .service(mock.service());
    let read = async |url: &str| {
        service.send(get(url)).await.unwrap().into_body().collect().await.unwrap();
    };
    for _ in 0..3 {
        read("http://quotes.test/a").await;
    }
    read("http://quotes.test/mine").await;
    read("http://a.test/a").await;
    tokio::time::sleep(20 * SECOND).await;
    let post = Request::post("http://quotes.test/limited").body(Full::<Bytes>::default()).unwrap();
    let (limited, ()) = tokio::join!(service.send(post), async {
        tokio::time::sleep(SECOND).await;
        for _ in 0..4 {
            read("http://quotes.test/a").await;
        }
        let mut hasty = get("http://quotes.test/b");
        hasty.extensions_mut().insert(forbear::NoWait);
        assert!(service.send(hasty).await.is_err());
        let mut hasty = get("http://quotes.test/instead");
        hasty.extensions_mut().insert(forbear::NoWait);
        assert_eq!(service.send(hasty).await.unwrap().status(), 200);
    });
    assert_eq!(limited.unwrap().status(), 429);
    let scrape = exporter.scrape(&metrics);
    let quotes = |name, more: &[(&str, &str)]| scrape.value(name, &[&[("family", "quotes")], more].concat());
    let answers = |served| quotes("forbear_stale_answers_total", &[("served", served)]);
    let of = ["live", "fresh", "stale", "fallback", "refused"].map(answers);
    assert_eq!(of, [2.0, 2.0, 4.0, 1.0, 1.0]);
    assert_eq!(quotes("forbear_stale_causes_total", &[("because", "cooling")]), 4.0);
    assert_eq!(quotes("forbear_stale_causes_total", &[("because", "limited")]), 0.0);
    assert_eq!(quotes("forbear_stale_entries", &[]), 1.0);
    assert_eq!(quotes("forbear_stale_stored_total", &[]), 1.0);
    assert_eq!(quotes("forbear_stale_unstored_total", &[]), 1.0);
    assert!(quotes("forbear_stale_bytes", &[]) > 1000.0);
    let automatic = [("family", "automatic"), ("served", "live")];
    assert_eq!(scrape.value("forbear_stale_answers_total", &automatic), 1.0);
    assert!(!scrape.text.contains(".test"), "{}", scrape.text);

    // With the service goes what is stored; what was counted stays.
    drop(service);
    let scrape = exporter.scrape(&metrics);
    let quotes = |name| scrape.value(name, &[("family", "quotes")]);
    assert_eq!((quotes("forbear_stale_entries"), quotes("forbear_stale_bytes")), (0.0, 0.0));
    assert_eq!(quotes("forbear_stale_stored_total"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_hosts_that_nobody_registered_make_no_series() {
    let families = Families::builder().build().unwrap();
    let (exporter, metrics) = (Exporter::new(), families.metrics());
    ask(&families, "http://a.test/").await;
    let before = exporter.scrape(&metrics).series.len();
    for host in 0..1000 {
        ask(&families, &format!("http://h{host}.test/{host}")).await;
    }
    let scrape = exporter.scrape(&metrics);
    assert_eq!(scrape.series.len(), before);
    let live = [("family", "automatic"), ("served", "live")];
    assert_eq!(scrape.value("forbear_stale_answers_total", &live), 1001.0);
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_against_the_vendors_word_is_said_once_for_each_family() {
    let mock = MockVendor::in_process().script(reply(200).header("cache-control", "no-store"));
    let logs = Logs::catch();
    let against = StalePolicy::new().store_no_store();
    let family = |name: &str| Family::new(name).host(format!("{name}.test")).stale(against.clone());
    let families = Families::builder().family(family("quotes")).family(family("news")).build().unwrap();
    let service = forbear::stack(&families).stale(StaleLayer::memory(1 << 20)).service(mock.service());
    for url in ["http://quotes.test/a", "http://quotes.test/b", "http://other.test/", "http://news.test/"] {
        service.send(get(url)).await.unwrap().into_body().collect().await.unwrap();
    }
    tokio::time::sleep(SECOND).await;
    let said = logs.all();
    let rows = table_of(include_str!("../../docs/stale.md"), "event");
    for (event, family) in said.iter().zip(["quotes", "news"]) {
        assert_eq!(
            (event.field("message"), event.level.as_str()),
            (rows[0][0].as_str(), rows[0][1].as_str())
        );
        assert_eq!(listed(&rows[0][3]), ["family"]);
        assert_eq!(event.field("family"), family);
    }
    assert_eq!(said.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_demand_that_cannot_be_made_is_said_once_and_again_after_one_that_could() {
    let mock = MockVendor::in_process().script(reply(200));
    let logs = Logs::catch();
    let families = Families::builder().family(Family::new("quotes").host("quotes.test")).build().unwrap();
    let vendor = forbear::stack(&families).stale(StaleLayer::memory(1 << 20)).service(mock.service());
    let quotes = Source::new("quotes")
        .family("quotes")
        .fetch(|key| Request::get(format!("http://quotes.test/{key}")).body(Full::<Bytes>::default()))
        .store(|_, _| async { Ok::<_, std::io::Error>(()) });
    let refresh =
        Refresh::over(&families, vendor.filling(), MemoryWorkStore::new()).source(quotes).build().unwrap();
    let local = vendor.demanding(&refresh, "quotes", |head| Some(head.uri.path().to_owned())).unwrap();
    // A key has at most 512 bytes.
    let too_long = |n: usize| format!("http://quotes.test/{}{n}", "k".repeat(600));
    for url in [too_long(1), too_long(2), "http://quotes.test/a".to_owned(), too_long(3)] {
        assert!(local.clone().oneshot(get(&url)).await.is_err());
        tokio::time::sleep(SECOND).await;
    }
    let rows = table_of(include_str!("../../docs/stale.md"), "event");
    let said = logs.all();
    for event in &said {
        assert_eq!(
            (event.field("message"), event.level.as_str()),
            (rows[1][0].as_str(), rows[1][1].as_str())
        );
        let mut fields: Vec<_> = event.declared.iter().copied().filter(|name| *name != "message").collect();
        fields.sort_unstable();
        assert_eq!(fields, listed(&rows[1][3]));
        assert_eq!((event.field("source"), event.field("cause")), ("quotes", "key"));
    }
    assert_eq!(said.len(), 2);
}

/// A store that hangs until it is well, and then finds nothing but what nobody can have written.
#[derive(Debug, Clone)]
struct Hangs(MemoryResponses, Arc<AtomicBool>);

impl Hangs {
    fn once_well<'a, T: Send + 'a>(&self, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if self.1.load(Ordering::Relaxed) { answer } else { Box::pin(std::future::pending()) }
    }
}

impl ResponseStore for Hangs {
    fn name(&self) -> &'static str {
        "hangs"
    }

    fn secret(&self) -> ResponseSecret {
        self.0.secret()
    }

    fn find(&self, _: ResponseKey, _: Stamp) -> StoreFuture<'_, FoundResponses> {
        let found = FoundResponses { dropped: 2, ..FoundResponses::default() };
        self.once_well(Box::pin(async { Ok(found) }))
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        self.once_well(self.0.put(responses, now))
    }

    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()> {
        self.once_well(self.0.remove(keys))
    }

    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64> {
        self.once_well(self.0.purge(what))
    }

    fn kept(&self) -> StoreFuture<'_, KeptResponses> {
        self.once_well(self.0.kept())
    }
}

#[tokio::test(start_paused = true)]
async fn what_happens_to_a_store_of_answers_is_told_as_documented_and_once() {
    let large = "x".repeat(1_000_000);
    let mock = MockVendor::in_process().script(reply(200).header("cache-control", "max-age=60").body(large));
    let logs = Logs::catch();
    let store = Hangs(MemoryResponses::new(64 << 20), Arc::default());
    let stale = StaleLayer::memory(64 << 20).store(store.clone());
    let families = Families::builder().build().unwrap();
    let service = forbear::stack(&families).stale(stale).service(mock.service());
    let read = async |number: u32| {
        let url = format!("http://quotes.test/{number}");
        service.send(get(&url)).await.unwrap().into_body().collect().await.unwrap();
    };
    for number in 0..20 {
        read(number).await;
    }
    tokio::time::sleep(60 * SECOND).await;
    store.1.store(true, Ordering::Relaxed);
    tokio::time::sleep(60 * SECOND).await;
    service.stored().await.unwrap();
    read(20).await;
    let line =
        |message: &str, level: &str, fields: &[&str]| format!("{level} {message}: {}", fields.join(", "));
    let mut told: Vec<_> = logs
        .all()
        .iter()
        .map(|event| {
            assert_eq!(event.field("store"), "hangs");
            let mut fields: Vec<_> =
                event.declared.iter().copied().filter(|name| *name != "message").collect();
            fields.sort_unstable();
            line(event.field("message"), event.level.as_str(), &fields)
        })
        .collect();
    let rows = table_of(include_str!("../../docs/stale.md"), "event");
    let documented = rows
        .iter()
        .filter(|row| listed(&row[3]).contains(&"store"))
        .map(|row| line(&row[0], &row[1], &listed(&row[3])));
    // Reading and writing are told of each by itself.
    let mut documented: Vec<_> = documented
        .flat_map(|line| {
            let times = if line.contains("doing") { 2 } else { 1 };
            std::iter::repeat_n(line, times)
        })
        .collect();
    told.sort_unstable();
    documented.sort_unstable();
    assert_eq!(told, documented);
}
