//! What a Prometheus server would get.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use forbear::Metrics;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tokio::time::timeout;

/// The labels of one series.
pub(crate) type Labels = BTreeMap<String, String>;

/// A recorder for one test.
pub(crate) struct Exporter {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

/// What was rendered, read again.
#[derive(Debug, Default)]
pub(crate) struct Scrape {
    pub(crate) text: String,
    /// Every metric's type, as its `# TYPE` says.
    pub(crate) kinds: BTreeMap<String, String>,
    pub(crate) series: BTreeMap<(String, Labels), f64>,
}

impl Exporter {
    pub(crate) fn new() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        Self { handle: recorder.handle(), recorder }
    }

    /// Publishes, and renders what there is then.
    pub(crate) fn scrape(&self, of: &Metrics) -> Scrape {
        ::metrics::with_local_recorder(&self.recorder, || of.publish());
        self.read()
    }

    /// What was published so far.
    pub(crate) fn read(&self) -> Scrape {
        Scrape::read(self.handle.render())
    }
}

impl Exporter {
    /// Polls `publishing` with this recorder in scope, for so long.
    pub(crate) async fn during(&self, publishing: impl Future, span: Duration) {
        let mut publishing = pin!(timeout(span, publishing));
        poll_fn(|cx| ::metrics::with_local_recorder(&self.recorder, || publishing.as_mut().poll(cx)))
            .await
            .err()
            .unwrap();
    }
}

impl Scrape {
    fn read(text: String) -> Self {
        let mut scrape = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                scrape.kinds.insert(name.to_owned(), kind.to_owned());
            } else if !line.starts_with('#') {
                let (series, value) = line.rsplit_once(' ').unwrap();
                scrape.series.insert(named(series), value.parse().unwrap());
            }
        }
        Self { text, ..scrape }
    }

    /// The value of a series; labels in any order.
    #[track_caller]
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let key = (name.to_owned(), labels);
        *self.series.get(&key).unwrap_or_else(|| panic!("no {key:?} in {}", self.text))
    }

    /// The names of the labels of a metric.
    pub(crate) fn labels(&self, metric: &str) -> BTreeSet<&str> {
        self.of(metric).flat_map(|labels| labels.keys().map(String::as_str)).collect()
    }

    /// The values that a label of a metric has.
    pub(crate) fn values(&self, metric: &str, label: &str) -> BTreeSet<&str> {
        self.of(metric).filter_map(|labels| labels.get(label).map(String::as_str)).collect()
    }

    fn of<'a>(&'a self, metric: &str) -> impl Iterator<Item = &'a Labels> + use<'a> {
        let metric = metric.to_owned();
        self.series.keys().filter(move |(name, _)| *name == metric).map(|(_, labels)| labels)
    }
}

/// `name{a="b",c="d"}` apart. No value in these tests holds a comma.
fn named(series: &str) -> (String, Labels) {
    let Some((name, labels)) = series.split_once('{') else { return (series.to_owned(), Labels::new()) };
    let pairs = labels.trim_end_matches('}').split(',').filter_map(|pair| pair.split_once('='));
    let labels = pairs.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()));
    (name.to_owned(), labels.collect())
}
