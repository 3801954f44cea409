use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::metrics::{SharedString, Unit, counter, describe_counter, describe_gauge, gauge};
use forbear_core::families::AUTOMATIC;
use forbear_core::gate::{RefusalCause, Totals};
use forbear_core::health::{FamilyHealth, HealthPhase};
use forbear_core::signal::Class;
use tokio::time::{MissedTickBehavior, interval};

use super::Families;
use crate::keeper::Keeper;

mod pacing;
mod stale;
mod store;

/// Publishes counters and gauges through the `metrics` facade. See [`Families::metrics`].
#[derive(Debug)]
pub struct Metrics {
    families: Families,
}

/// Nobody reads numbers more often than that.
const AT_MOST_EVERY: Duration = Duration::from_millis(1);

impl Families {
    /// Metrics of all families, for whatever recorder of the `metrics` facade the program installs. Calls are counted by
    /// the gates anyway; here the counts are copied, once in a while or before each scrape.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use forbear::{Families, Family};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let families = Families::builder().family(Family::new("quotes").host("quotes.example")).build()?;
    /// // An exporter that listens by itself: a task that keeps the numbers fresh.
    /// let publishing = tokio::spawn(families.metrics().run(Duration::from_secs(5)));
    /// // Or, where the program renders its own `/metrics`: in its handler, before it renders.
    /// families.metrics().publish();
    /// # publishing.abort();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// One set of families to a recorder: a second one would overwrite the gauges of families of the same name.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics { families: self.clone() }
    }
}

impl Metrics {
    /// Copies all numbers to the recorder: 29 series for each registered family, the same for all automatic ones
    /// together, ten more for each that is paced or was, 21 more for each whose answers a `StaleLayer` looked for, three more, and four where there is a [store](crate::FamiliesBuilder::store). As [`Families::health`], it makes the changes that time brings, and tells them.
    pub fn publish(&self) {
        describe();
        let health = self.families.health();
        let automatic: Arc<str> = AUTOMATIC.into();
        let (others, named): (Vec<_>, Vec<_>) = health.families.iter().partition(|family| family.automatic);
        for family in &named {
            stands(&family.family, &[family]);
        }
        stands(&automatic, &others);
        let named: BTreeSet<&str> = named.iter().map(|family| &*family.family).collect();
        for (name, totals) in self.families.0.listeners().totals() {
            if let Some(name) = name.as_ref().filter(|name| !named.contains(&***name)) {
                // One that is gone does not keep its last values, whoever published them.
                stands(name, &[]);
            }
            let name = name.unwrap_or_else(|| Arc::clone(&automatic));
            did(&name, &totals);
            if let Some(totals) = &totals.pacing {
                let stands = health.family(&name).and_then(|family| family.pacing.as_ref());
                pacing::publish(&name, totals, stands);
            }
            if let Some(totals) = &totals.stale {
                stale::publish(&name, totals);
            }
        }
        counter!("forbear_overflows_total").absolute(health.overflows);
        counter!("forbear_unknown_total").absolute(health.unknown);
        gauge!("forbear_shadow").set(if health.shadow { 1.0 } else { 0.0 });
        if let Some(keeper) = Keeper::of(&self.families.0) {
            store::publish(keeper);
        }
    }

    /// Publishes now, and then every so often, for ever: for a task of the program's own.
    ///
    /// **Cancellation.** Dropped, it ends, and lets the families go. The counters go on in the gates, and are published
    /// whole by the next one.
    pub async fn run(self, every: Duration) -> Infallible {
        let mut due = interval(every.max(AT_MOST_EVERY));
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            self.publish();
        }
    }
}

/// Where the families called `name` stand: one, or all automatic ones; none where it is gone.
fn stands(name: &Arc<str>, families: &[&FamilyHealth]) {
    let family = || SharedString::from(Arc::clone(name));
    for phase in HealthPhase::ALL {
        let count = families.iter().filter(|family| family.phase == phase).count();
        gauge!("forbear_family_phase", "family" => family(), "phase" => phase.as_str()).set(number(count));
    }
    let degraded = families.iter().filter(|family| family.degraded).count();
    gauge!("forbear_family_degraded", "family" => family()).set(number(degraded));
    let level = families.iter().map(|family| family.level).max().unwrap_or_default();
    gauge!("forbear_family_level", "family" => family()).set(f64::from(level));
    let cooling =
        |phase| matches!(phase, HealthPhase::Cooling | HealthPhase::Exhausted | HealthPhase::Blocked);
    let left = families.iter().filter(|family| cooling(family.phase)).filter_map(|family| family.remaining);
    gauge!("forbear_cooldown_seconds", "family" => family())
        .set(left.max().unwrap_or_default().as_secs_f64());
    let closed = families.iter().map(|family| family.closed_partitions).sum();
    gauge!("forbear_closed_partitions", "family" => family()).set(number(closed));
    let waiting = families.iter().map(|family| family.waiting).sum();
    gauge!("forbear_waiting", "family" => family()).set(number(waiting));
}

/// What the families called `name` did.
fn did(name: &Arc<str>, totals: &Totals) {
    let family = || SharedString::from(Arc::clone(name));
    counter!("forbear_attempts_total", "family" => family()).absolute(totals.attempts);
    counter!("forbear_recoveries_total", "family" => family()).absolute(totals.recoveries);
    for class in Class::ALL {
        let word = class.as_str();
        counter!("forbear_signals_total", "family" => family(), "class" => word)
            .absolute(totals.signals(class));
        counter!("forbear_strikes_total", "family" => family(), "class" => word)
            .absolute(totals.strikes(class));
    }
    for cause in RefusalCause::ALL {
        counter!("forbear_refusals_total", "family" => family(), "cause" => cause.as_str())
            .absolute(totals.refusals(cause));
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 families or callers")]
fn number(count: usize) -> f64 {
    count as f64
}

/// Each time, since a recorder may be installed later; it costs little beside the rest.
fn describe() {
    pacing::describe();
    stale::describe();
    store::describe();
    describe_counter!("forbear_attempts_total", "Attempts that a gate let through.");
    describe_counter!("forbear_signals_total", "Answers that said something about a limit.");
    describe_counter!("forbear_strikes_total", "Signals that began a cool-down.");
    describe_counter!(
        "forbear_refusals_total",
        "Attempts that were not sent, or in shadow mode would not have been."
    );
    describe_counter!(
        "forbear_recoveries_total",
        "Recoveries begun: a probe was accepted, or an operator cleared."
    );
    describe_counter!(
        "forbear_overflows_total",
        "Signals of hosts that found no room for a family of their own."
    );
    describe_counter!("forbear_unknown_total", "Requests that no family has, and that were refused for it.");
    describe_gauge!(
        "forbear_family_phase",
        "Families in this phase: 1 or 0, or how many of the automatic ones."
    );
    describe_gauge!(
        "forbear_family_degraded",
        "Families in trouble for longer than a vendor's ordinary not now."
    );
    describe_gauge!("forbear_family_level", "The level, 0 to 7.");
    describe_gauge!("forbear_cooldown_seconds", Unit::Seconds, "What is left of the cool-down.");
    describe_gauge!("forbear_closed_partitions", "Parts of the family that are not open.");
    describe_gauge!("forbear_waiting", "Callers that wait for their family.");
    describe_gauge!("forbear_shadow", "1 in shadow mode: nothing is refused or delayed.");
}
