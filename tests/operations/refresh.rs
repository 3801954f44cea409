//! What an operator sees of a refresh is as `docs/background.md` says, and shows no secret.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{Families, Family, MemoryWorkStore, Refresh, Source};
use forbear_mock::{MockVendor, reply};
use forbear_tests::logs::Logs;
use http::{Request, Response};
use http_body_util::Full;
use tower::service_fn;
use tracing::Level;

use crate::documented::{listed, table_of};
use crate::scrape::{Exporter, Scrape};

const SECOND: Duration = Duration::from_secs(1);
const PAGE: &str = include_str!("../../docs/background.md");
const CANARY: &str = "CANARY7f3a";

fn families() -> Families {
    let named = |name: &str| Family::new(name).host(format!("{name}.test"));
    Families::builder().family(named("quotes")).family(named("news")).build().unwrap()
}

fn source(name: &str, family: &str) -> forbear::refresh::HttpSource<Full<Bytes>> {
    Source::new(name)
        .family(family)
        .max_attempts(1)
        .fetch(|key| Request::get(format!("http://vendor.test/{key}?key={CANARY}")).body(Full::default()))
        .store(|_, _| async { Ok::<_, io::Error>(()) })
}

async fn scraped(exporter: &Exporter, refresh: &Refresh) -> Scrape {
    exporter.during(refresh.metrics().run(60 * SECOND), SECOND).await;
    exporter.read()
}

#[tokio::test(start_paused = true)]
async fn a_scrape_of_a_refresh_is_as_documented_and_says_what_happened() {
    let mock = MockVendor::in_process()
        .script(reply(200))
        .route("/broken", reply(500))
        .route("/limited", reply(429).retry_after(300));
    let vendor = forbear::stack(&families()).service(mock.service());
    let refresh = Refresh::builder(vendor, MemoryWorkStore::new())
        .source(source("quote", "quotes"))
        .source(source("headline", "news"))
        .build()
        .unwrap();
    refresh.demand("quote", ["a", "b", "broken", "limited", "x", "y", "z"]).await.unwrap();
    refresh.demand("headline", ["a"]).await.unwrap();
    let (logs, exporter) = (Logs::catch(), Exporter::new());
    refresh.run(tokio::time::sleep(10 * SECOND)).await;

    let scrape = scraped(&exporter, &refresh).await;
    let rows = table_of(PAGE, "refresh metric");
    let mut exported: Vec<_> = scrape.kinds.keys().map(String::as_str).collect();
    let documented: Vec<_> = rows.iter().map(|row| row[0].as_str()).collect();
    exported.sort_by_key(|name| documented.iter().position(|known| known == name));
    assert_eq!(exported, documented, "in docs/background.md, and in this order");
    for row in &rows {
        assert_eq!(scrape.kinds[&row[0]], row[1], "the type of {}", row[0]);
        assert_eq!(scrape.labels(&row[0]).into_iter().collect::<Vec<_>>(), listed(&row[2]), "{}", row[0]);
        assert!(scrape.text.contains(&format!("# HELP {} ", row[0])), "{} is described", row[0]);
    }
    assert_eq!(scrape.series.len(), 13 + 13 + 1, "as documented");

    let runs =
        |outcome| scrape.value("forbear_refresh_runs_total", &[("source", "quote"), ("outcome", outcome)]);
    assert_eq!((runs("done"), runs("failed"), runs("deferred"), runs("released")), (2.0, 1.0, 1.0, 0.0));
    let keys = |state| scrape.value("forbear_refresh_keys", &[("source", "quote"), ("state", state)]);
    assert_eq!((keys("waiting"), keys("failed"), keys("running")), (6.0, 1.0, 0.0));
    let of = |name, source| scrape.value(name, &[("source", source)]);
    assert_eq!(of("forbear_refresh_skipped", "quote"), 4.0);
    assert_eq!(of("forbear_refresh_oldest_due_seconds", "quote").round(), 10.0);
    assert_eq!(
        (of("forbear_refresh_due", "headline"), of("forbear_refresh_skipped", "headline")),
        (0.0, 0.0)
    );
    assert!(!scrape.text.contains("limited") && !scrape.text.contains(CANARY), "{}", scrape.text);

    let failed: Vec<_> =
        logs.at(Level::WARN).into_iter().filter(|event| event.field("message").starts_with("keys")).collect();
    let documented = table_of(PAGE, "event");
    let row = documented.iter().find(|row| row[0] == failed[0].field("message")).expect("it is documented");
    assert_eq!(failed.len(), 1, "{failed:?}");
    let mut fields: Vec<_> = failed[0].declared.iter().copied().filter(|field| *field != "message").collect();
    fields.sort_unstable();
    assert_eq!(fields, listed(&row[3]));
}

#[tokio::test(start_paused = true)]
async fn what_a_client_says_is_in_nothing_that_a_refresh_keeps_or_shows() {
    let client = service_fn(|request: Request<Replay<Full<Bytes>>>| async move {
        Err::<Response<Full<Bytes>>, _>(io::Error::other(format!(
            "cannot reach {} ({CANARY})",
            request.uri()
        )))
    });
    let vendor = forbear::stack(&families()).service(client);
    let refresh =
        Refresh::builder(vendor, MemoryWorkStore::new()).source(source("quote", "quotes")).build().unwrap();
    refresh.demand("quote", ["a"]).await.unwrap();
    let logs = Logs::catch();
    refresh.run(tokio::time::sleep(SECOND)).await;
    let row = refresh.row("quote", "a").await.unwrap().unwrap();
    let health = refresh.health().await;
    let json = serde_json::to_string(&health).unwrap();
    let shown = format!("{row:?} {health} {health:?} {json} {refresh:?} {:?}", logs.all());
    assert!(shown.contains("the client failed") && !shown.contains(CANARY), "{shown}");
}
