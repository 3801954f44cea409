//! The metrics, their documentation, and that they only grow.

use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Family, MemoryCooldowns, NoWait, Operator, Pacing, PacingCause, Unknown};
use forbear_mock::{MockService, MockVendor, reply};
use http::Request;
use http_body_util::Full;

use crate::documented::{listed, table};
use crate::scrape::Exporter;

const SECOND: Duration = Duration::from_secs(1);

fn get(url: &str) -> Request<Full<Bytes>> {
    let mut request = Request::get(url).body(Full::default()).unwrap();
    request.extensions_mut().insert(NoWait);
    request
}

fn quotes() -> Family {
    Family::new("quotes").host("quotes.test")
}

fn vendor(families: &Families, mock: &MockVendor) -> forbear::Vendor<MockService> {
    forbear::stack(families).budget(30 * SECOND).service(mock.service())
}

#[tokio::test(start_paused = true)]
async fn every_metric_is_documented_with_its_labels_and_all_their_values() {
    let paced = quotes().pacing(Pacing::new().in_flight(8));
    let families = Families::builder()
        .family(paced)
        .family(Family::new("news"))
        .store(MemoryCooldowns::new())
        .build()
        .unwrap();
    crate::stale::ask(&families, "http://quotes.test/").await;
    let scrape = Exporter::new().scrape(&families.metrics());
    let rows = table("metric");
    let documented: Vec<_> = rows.iter().map(|row| row[0].as_str()).collect();
    let mut exported: Vec<_> = scrape.kinds.keys().map(String::as_str).collect();
    exported.sort_by_key(|name| documented.iter().position(|known| known == name));
    assert_eq!(exported, documented, "in docs/operations.md, and in this order");
    for row in &rows {
        assert_eq!(scrape.kinds[&row[0]], row[1], "the type of {}", row[0]);
        assert_eq!(scrape.labels(&row[0]).into_iter().collect::<Vec<_>>(), listed(&row[2]), "{}", row[0]);
        assert!(scrape.text.contains(&format!("# HELP {} ", row[0])), "{} is described", row[0]);
    }
    let values = table("label");
    let of = |label: &str| values.iter().find(|row| row[0] == label).unwrap()[1].clone();
    for (label, metric) in [("class", "forbear_strikes_total"), ("cause", "forbear_refusals_total")] {
        let documented = of(label);
        let documented = documented.split(':').next().unwrap();
        assert_eq!(scrape.values(metric, label).into_iter().collect::<Vec<_>>(), listed(documented));
    }
    let of_pacing = PacingCause::ALL.map(PacingCause::as_str);
    assert!(of_pacing.iter().all(|cause| of("cause").contains(*cause)), "{of_pacing:?}");
    let exported = scrape.values("forbear_pacing_refusals_total", "cause");
    assert_eq!(exported.len(), of_pacing.len(), "{exported:?}");
    let of_stale: Vec<_> = scrape.values("forbear_stale_causes_total", "because").into_iter().collect();
    assert_eq!(of_stale, listed(of("because").split(':').next().unwrap()));
    let served: Vec<_> = scrape.values("forbear_stale_answers_total", "served").into_iter().collect();
    assert_eq!(served, listed(of("served").replace(';', ",").split(':').next().unwrap()));
    let mut phases: Vec<_> = table("phase").into_iter().map(|row| row[0].clone()).collect();
    phases.sort();
    assert_eq!(scrape.values("forbear_family_phase", "phase").into_iter().collect::<Vec<_>>(), phases);
    assert_eq!(scrape.series.len(), 29 + 29 + 29 + 10 + 22 + 3 + 4, "as documented");
}

#[tokio::test(start_paused = true)]
async fn a_scrape_says_what_happened() {
    let mock = MockVendor::in_process()
        .script(reply(200))
        .route("/limited", reply(429).retry_after(5))
        .route("/down", reply(503).retry_after(60));
    let families =
        Families::builder().family(quotes()).family(Family::new("news").host("news.test")).build().unwrap();
    let (exporter, metrics, client) = (Exporter::new(), families.metrics(), vendor(&families, &mock));
    let _ = client.send(get("http://quotes.test/well")).await.unwrap();
    let _ = client.send(get("http://quotes.test/limited")).await.unwrap();
    for _ in 0..3 {
        let _ = client.send(get("http://quotes.test/well")).await.unwrap_err();
    }
    for host in ["a.test", "b.test"] {
        let _ = client.send(get(&format!("http://{host}/down"))).await.unwrap();
    }
    families.pause("news", Operator::new("alice", "contract ended")).unwrap();
    let _ = client.send(get("http://news.test/")).await.unwrap_err();
    tokio::time::sleep(SECOND).await;

    let scrape = exporter.scrape(&metrics);
    let quotes = |name, more: &[(&str, &str)]| scrape.value(name, &[&[("family", "quotes")], more].concat());
    let throttled = [("class", "throttled")];
    assert_eq!(quotes("forbear_attempts_total", &[]), 2.0);
    assert_eq!(quotes("forbear_signals_total", &throttled), 1.0);
    assert_eq!(quotes("forbear_strikes_total", &throttled), 1.0);
    assert_eq!(quotes("forbear_strikes_total", &[("class", "overloaded")]), 0.0);
    assert_eq!(quotes("forbear_refusals_total", &[("cause", "cooling")]), 3.0);
    assert_eq!(quotes("forbear_family_phase", &[("phase", "cooling")]), 1.0);
    assert_eq!(quotes("forbear_family_phase", &[("phase", "open")]), 0.0);
    assert_eq!(quotes("forbear_family_level", &[]), 1.0);
    assert_eq!(quotes("forbear_cooldown_seconds", &[]), 4.0);
    let news = |name, more: &[(&str, &str)]| scrape.value(name, &[&[("family", "news")], more].concat());
    assert_eq!(news("forbear_family_phase", &[("phase", "paused")]), 1.0);
    assert_eq!(news("forbear_refusals_total", &[("cause", "paused")]), 1.0);
    assert_eq!(news("forbear_cooldown_seconds", &[]), 0.0);
    let automatic =
        |name, more: &[(&str, &str)]| scrape.value(name, &[&[("family", "automatic")], more].concat());
    assert_eq!(automatic("forbear_family_phase", &[("phase", "cooling")]), 2.0);
    assert_eq!(automatic("forbear_strikes_total", &[("class", "overloaded")]), 2.0);
    assert_eq!(automatic("forbear_cooldown_seconds", &[]), 59.0);
    assert!(!scrape.text.contains(".test"), "{}", scrape.text);

    tokio::time::sleep(5 * SECOND).await;
    let _ = client.send(get("http://quotes.test/well")).await.unwrap();
    let scrape = exporter.scrape(&metrics);
    assert_eq!(scrape.value("forbear_recoveries_total", &[("family", "quotes")]), 1.0);
    assert_eq!(scrape.value("forbear_family_phase", &[("family", "quotes"), ("phase", "recovering")]), 1.0);
    assert_eq!(scrape.value("forbear_family_phase", &[("family", "quotes"), ("phase", "cooling")]), 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_family_is_counted_for_the_family_and_makes_no_series() {
    let mock = MockVendor::in_process()
        .script(reply(429).retry_after(5))
        .route("/0", reply(200))
        .route("/3", reply(200));
    let mail = Family::new("mail").host("mail.test").partition_by_header("authorization").per_partition();
    let families = Families::builder().family(mail).build().unwrap();
    let (exporter, metrics, client) = (Exporter::new(), families.metrics(), vendor(&families, &mock));
    let as_user = |key: u32, path: u32| {
        let mut request = get(&format!("http://mail.test/{path}"));
        request.headers_mut().insert("authorization", format!("key {key}").parse().unwrap());
        request
    };
    let before = exporter.scrape(&metrics).series.len();
    let _ = client.send(as_user(0, 0)).await.unwrap();
    for key in 0..100 {
        let _ = client.send(as_user(key, 1)).await.unwrap();
        let _ = client.send(as_user(key, 2)).await.unwrap_err();
    }
    let scrape = exporter.scrape(&metrics);
    assert_eq!(scrape.series.len(), before);
    let mail = |name, more: &[(&str, &str)]| scrape.value(name, &[&[("family", "mail")], more].concat());
    assert_eq!(mail("forbear_attempts_total", &[]), 101.0);
    assert_eq!(mail("forbear_strikes_total", &[("class", "throttled")]), 100.0);
    assert_eq!(mail("forbear_refusals_total", &[("cause", "cooling")]), 100.0);
    assert_eq!(mail("forbear_closed_partitions", &[]), 100.0);
    assert_eq!(mail("forbear_family_phase", &[("phase", "open")]), 1.0);
    tokio::time::sleep(5 * SECOND).await;
    for key in 0..50 {
        let _ = client.send(as_user(key, 3)).await.unwrap();
    }
    let scrape = exporter.scrape(&metrics);
    assert_eq!(scrape.value("forbear_attempts_total", &[("family", "mail")]), 151.0, "none counted twice");
}

#[tokio::test(start_paused = true)]
async fn what_waits_what_is_unknown_and_shadow_mode_are_seen() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(5), reply(200)]);
    let families = Families::builder().family(quotes()).unknown(Unknown::Refuse).build().unwrap();
    let (exporter, metrics, client) = (Exporter::new(), families.metrics(), vendor(&families, &mock));
    let _ = client.send(get("http://quotes.test/")).await.unwrap();
    let _ = client.send(get("http://nobody.test/")).await.unwrap_err();
    let patient = Request::get("http://quotes.test/other").body(Full::<Bytes>::default()).unwrap();
    let waiting = tokio::spawn(async move { client.send(patient).await.unwrap().status() });
    tokio::time::sleep(SECOND).await;
    let scrape = exporter.scrape(&metrics);
    assert_eq!(scrape.value("forbear_waiting", &[("family", "quotes")]), 1.0);
    assert_eq!(scrape.value("forbear_unknown_total", &[]), 1.0);
    assert_eq!(scrape.value("forbear_shadow", &[]), 0.0);
    assert_eq!(waiting.await.unwrap(), 200);
    families.shadow(true);
    let scrape = exporter.scrape(&metrics);
    assert_eq!(scrape.value("forbear_waiting", &[("family", "quotes")]), 0.0);
    assert_eq!(scrape.value("forbear_shadow", &[]), 1.0);
}

#[tokio::test(start_paused = true)]
async fn counters_never_fall_and_a_family_that_is_gone_stands_nowhere() {
    let mock = MockVendor::in_process().script(reply(429).retry_after(1));
    let families = Families::builder().family(quotes()).unknown(Unknown::PassThrough).build().unwrap();
    let (exporter, metrics, client) = (Exporter::new(), families.metrics(), vendor(&families, &mock));
    let mut before = exporter.scrape(&metrics);
    for round in 1..=3 {
        let _ = client.send(get(&format!("http://quotes.test/{round}"))).await.unwrap();
        families.remove("quotes").unwrap();
        let scrape = exporter.scrape(&metrics);
        let quotes = [("family", "quotes")];
        assert_eq!(scrape.value("forbear_attempts_total", &quotes), f64::from(round), "what it did is kept");
        for (key, value) in scrape
            .series
            .iter()
            .filter(|((_, labels), _)| labels.get("family").is_some_and(|family| family == "quotes"))
        {
            assert!(scrape.kinds[&key.0] == "counter" || *value == 0.0, "{key:?} is {value}");
        }
        families.register(self::quotes()).unwrap();
        let after = exporter.scrape(&metrics);
        for (key, value) in before.series.iter().filter(|((name, _), _)| before.kinds[name] == "counter") {
            assert!(after.series[key] >= *value, "{key:?} fell");
        }
        before = after;
    }
}

#[tokio::test(start_paused = true)]
async fn a_removed_family_stands_nowhere_whoever_publishes() {
    let families = Families::builder().family(quotes()).build().unwrap();
    let exporter = Exporter::new();
    families.pause("quotes", Operator::new("alice", "contract ended")).unwrap();
    let paused = [("family", "quotes"), ("phase", "paused")];
    assert_eq!(exporter.scrape(&families.metrics()).value("forbear_family_phase", &paused), 1.0);
    families.remove("quotes").unwrap();
    // A handler that asks for them anew at each scrape.
    assert_eq!(exporter.scrape(&families.metrics()).value("forbear_family_phase", &paused), 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_task_publishes_until_it_is_dropped() {
    let families = Families::builder().family(quotes()).build().unwrap();
    let exporter = Exporter::new();
    let attempts = || {
        let scrape = exporter.read();
        let published = scrape.kinds.contains_key("forbear_attempts_total");
        published.then(|| scrape.value("forbear_attempts_total", &[("family", "quotes")]))
    };
    let mock = MockVendor::in_process().script(reply(200));
    let client = vendor(&families, &mock);
    assert_eq!(attempts(), None);
    exporter.during(families.metrics().run(SECOND), SECOND / 2).await;
    assert_eq!(attempts(), Some(0.0), "at once");
    let _ = client.send(get("http://quotes.test/")).await.unwrap();
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(attempts(), Some(0.0), "it ended when it was dropped");
    exporter.during(families.metrics().run(SECOND), SECOND / 2).await;
    assert_eq!(attempts(), Some(1.0), "the next one publishes what was missed");
    let calls_later = async {
        tokio::time::sleep(SECOND / 2).await;
        let _ = client.send(get("http://quotes.test/")).await.unwrap();
        std::future::pending::<()>().await;
    };
    let publishing = async { tokio::join!(families.metrics().run(SECOND), calls_later) };
    exporter.during(publishing, 3 * SECOND / 2).await;
    assert_eq!(attempts(), Some(2.0), "again after each span");
}

#[tokio::test(start_paused = true)]
async fn a_paced_family_says_who_waits_what_is_in_flight_and_who_was_refused() {
    let mock = MockVendor::in_process().script(reply(200));
    let paced = || quotes().pacing(Pacing::new().gap(SECOND).queue(2).in_flight(8));
    let families = Families::builder().family(paced()).build().unwrap();
    let (exporter, metrics) = (Exporter::new(), families.metrics());
    let vendor = vendor(&families, &mock);
    let first = vendor.send(get("http://quotes.test/")).await.unwrap();
    let waits: Vec<_> = (0..2)
        .map(|_| {
            let vendor = vendor.clone();
            tokio::spawn(async move { vendor.send(get("http://quotes.test/")).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(vendor.send(get("http://quotes.test/")).await.is_err());
    let of = |scrape: &crate::scrape::Scrape, name| scrape.value(name, &[("family", "quotes")]);
    let scrape = exporter.scrape(&metrics);
    let full = [("family", "quotes"), ("cause", "queue-full")];
    assert_eq!(scrape.value("forbear_pacing_refusals_total", &full), 1.0);
    assert_eq!((of(&scrape, "forbear_queued"), of(&scrape, "forbear_paced_total")), (2.0, 2.0));
    // Whatever becomes of the family: who waited was counted, and nobody waits.
    families.remove("quotes").unwrap();
    drop((first, vendor, waits));
    let scrape = exporter.scrape(&metrics);
    assert_eq!((of(&scrape, "forbear_queued"), of(&scrape, "forbear_paced_total")), (0.0, 2.0));
    families.register(paced()).unwrap();
    let scrape = exporter.scrape(&metrics);
    assert_eq!(scrape.value("forbear_pacing_refusals_total", &full), 1.0);
}
