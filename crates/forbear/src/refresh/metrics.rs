use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::metrics::{Unit, counter, describe_counter, describe_gauge, gauge};
use tokio::time::{MissedTickBehavior, interval};

use super::Refresh;
use super::health::SourceHealth;
use super::shared::Known;

/// Publishes counters and gauges of a refresh through the `metrics` facade. See [`Refresh::metrics`].
#[derive(Debug)]
pub struct RefreshMetrics {
    refresh: Refresh,
}

/// Nobody reads numbers more often than that.
const AT_MOST_EVERY: Duration = Duration::from_millis(1);

impl Refresh {
    /// Metrics of all sources, as [`Families::metrics`](crate::Families::metrics) are of families: copied once in a while,
    /// or before each scrape. Keys make no series.
    #[must_use]
    pub fn metrics(&self) -> RefreshMetrics {
        RefreshMetrics { refresh: self.clone() }
    }
}

impl RefreshMetrics {
    /// Copies all numbers to the recorder: 13 series for each source, and one more. It looks into the store, as
    /// [`Refresh::health`] does.
    pub async fn publish(&self) {
        describe();
        let health = self.refresh.health().await;
        for (source, known) in health.sources.iter().zip(&self.refresh.0.sources) {
            stands(source);
            did(known);
        }
        gauge!("forbear_refresh_store_degraded").set(if health.degraded.is_some() { 1.0 } else { 0.0 });
    }

    /// Publishes now, and then every so often, for ever: for a task of the program's own.
    ///
    /// **Cancellation.** Dropped, it ends.
    pub async fn run(self, every: Duration) -> Infallible {
        let mut due = interval(every.max(AT_MOST_EVERY));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            self.publish().await;
        }
    }
}

fn stands(health: &SourceHealth) {
    let source = || health.source.to_string();
    for (state, count) in [
        ("waiting", health.waiting),
        ("running", health.running),
        ("failed", health.failed),
        ("stalled", health.stalled),
    ] {
        gauge!("forbear_refresh_keys", "source" => source(), "state" => state).set(number(count));
    }
    gauge!("forbear_refresh_due", "source" => source()).set(number(health.due));
    gauge!("forbear_refresh_skipped", "source" => source()).set(number(health.skipped));
    gauge!("forbear_refresh_oldest_due_seconds", "source" => source())
        .set(health.oldest_due.unwrap_or_default().as_secs_f64());
}

fn did(known: &Known) {
    let source = || known.name.to_string();
    let totals = &known.totals;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    for (outcome, count) in [
        ("done", &totals.done),
        ("deferred", &totals.deferred),
        ("failed", &totals.failed),
        ("released", &totals.released),
    ] {
        counter!("forbear_refresh_runs_total", "source" => source(), "outcome" => outcome)
            .absolute(read(count));
    }
    counter!("forbear_refresh_reclaimed_total", "source" => source()).absolute(read(&totals.reclaimed));
    counter!("forbear_refresh_stale_total", "source" => source()).absolute(read(&totals.stale));
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 keys")]
fn number(count: u64) -> f64 {
    count as f64
}

/// Each time, since a recorder may be installed later; it costs little beside the rest.
fn describe() {
    describe_counter!("forbear_refresh_runs_total", "Runs that are over, by how they ended.");
    describe_counter!(
        "forbear_refresh_reclaimed_total",
        "Keys that were claimed again after a lease was over: their process went, or hung."
    );
    describe_counter!("forbear_refresh_stale_total", "Runs whose claim was somebody else's when they ended.");
    describe_gauge!("forbear_refresh_keys", "Keys, by where they stand.");
    describe_gauge!("forbear_refresh_due", "Keys that could run now.");
    describe_gauge!("forbear_refresh_skipped", "Those of them whose family is not called.");
    describe_gauge!(
        "forbear_refresh_oldest_due_seconds",
        Unit::Seconds,
        "For how long the first of them has been due."
    );
    describe_gauge!(
        "forbear_refresh_store_degraded",
        "1 where the store of the refresh does not do its work."
    );
}
