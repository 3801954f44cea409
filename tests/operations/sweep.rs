//! What an operator sees of a sweep is as `docs/background.md` says.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Family, Sweep};
use forbear_mock::{MockVendor, reply};
use http::Request;
use http_body_util::Empty;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::documented::{listed, table_of};
use crate::scrape::Exporter;

const SECOND: Duration = Duration::from_secs(1);
const PAGE: &str = include_str!("../../docs/background.md");

/// What spans called `sweep` say, and how many were closed.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    declared: Vec<&'static str>,
    fields: BTreeMap<&'static str, String>,
    closed: usize,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if attributes.metadata().name() == "sweep" {
            let mut said = self.0.lock().unwrap();
            said.declared = attributes.metadata().fields().iter().map(|field| field.name()).collect();
            attributes.record(&mut *said);
        }
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut *self.0.lock().unwrap());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if context.span(&id).is_some_and(|span| span.name() == "sweep") {
            self.0.lock().unwrap().closed += 1;
        }
    }
}

/// Three families; `quotes` refuses in the middle, `news` fails once, and one host is in none.
fn vendor() -> (MockVendor, Families) {
    let mock = MockVendor::in_process().script(reply(200)).route("/limited", reply(429).retry_after(300));
    let named = |name: &str| Family::new(name).host(format!("{name}.test"));
    (mock, Families::builder().family(named("quotes")).family(named("news")).build().unwrap())
}

fn get(item: &&str) -> Result<Request<Empty<Bytes>>, http::Error> {
    Request::get(*item).body(Empty::new())
}

#[tokio::test(start_paused = true)]
async fn a_scrape_after_a_sweep_is_as_documented_and_says_what_happened() {
    let (mock, families) = vendor();
    let sweep =
        Sweep::new(forbear::stack(&families).service(mock.service())).budget(60 * SECOND).concurrency(1);
    let items = [
        "http://quotes.test/1",
        "http://quotes.test/2",
        "http://news.test/1",
        "http://other.test/1",
        "http://quotes.test/limited",
        "http://quotes.test/3",
        "not a URL",
    ];
    let exporter = Exporter::new();
    let run = async {
        let report = sweep.run(items, get).await;
        assert_eq!(report.to_string().split(" (").next(), Some("4 done, 2 deferred"), "{report}");
        pending::<()>().await;
    };
    exporter.during(run, SECOND).await;
    let scrape = exporter.read();
    let rows = table_of(PAGE, "sweep metric");
    assert_eq!(
        scrape.kinds.keys().map(String::as_str).collect::<Vec<_>>(),
        rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>()
    );
    let row = &rows[0];
    assert_eq!(
        (&scrape.kinds[&row[0]], scrape.labels(&row[0]).into_iter().collect::<Vec<_>>()),
        (&row[1], listed(&row[2]))
    );
    assert!(scrape.text.contains(&format!("# HELP {} ", row[0])), "it is described");
    let count = |family, outcome| scrape.value(&row[0], &[("family", family), ("outcome", outcome)]);
    assert_eq!(
        (count("quotes", "done"), count("quotes", "deferred"), count("news", "done")),
        (2.0, 2.0, 1.0)
    );
    assert_eq!((count("automatic", "done"), count("unknown", "failed")), (1.0, 1.0));
    assert_eq!(scrape.series.len(), 5, "no host and no path makes another: {}", scrape.text);
}

#[tokio::test(start_paused = true)]
async fn a_sweep_is_a_span_that_says_at_its_end_what_came_of_it() {
    let (mock, families) = vendor();
    let sweep =
        Sweep::new(forbear::stack(&families).service(mock.service())).budget(60 * SECOND).concurrency(1);
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let _listens = tracing::subscriber::set_default(subscriber);
    let _ = sweep
        .run(["http://news.test/1", "http://quotes.test/limited", "http://quotes.test/3", "no URL"], get)
        .await;
    {
        let said = spans.0.lock().unwrap();
        let shown: Vec<_> = said.fields.iter().map(|(field, value)| format!("{field}={value}")).collect();
        assert_eq!(shown, ["budget_ms=60000", "concurrency=1", "deferred=2", "done=1", "failed=1"]);
        assert_eq!(said.closed, 1);
        let mut declared = said.declared.clone();
        declared.sort_unstable();
        let row = table_of(PAGE, "sweep span").remove(0);
        assert_eq!((&*row[0], declared), ("sweep", listed(&row[1])));
    }
    // Dropped on its way it says as much.
    let mut outcomes = sweep.stream(["http://news.test/1", "http://news.test/2"], get);
    let _ = outcomes.next().await;
    drop(outcomes);
    let said = spans.0.lock().unwrap();
    assert_eq!((said.fields["done"].as_str(), said.closed), ("1", 2));
}
