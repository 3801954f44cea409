use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::health::{FamilyHealth, HealthPhase, Short};
use forbear_core::store::StoreFault;
use forbear_core::work::{Stamp, Tally};
use serde::{Serialize, Serializer};
use tokio::time::timeout;

use super::Refresh;
use super::driver::stands;
use super::plan::Stand;
use super::shared::Known;
use crate::clock;

/// What an operator is shown of a refresh. Its [`Display`](fmt::Display) is a line for each source, and one for each family
/// that is not called:
///
/// ```text
/// yahoo.quote  412 due, skipped  2 failed  oldest due 3m20s ago
/// news         3 running  next in 12m00s
/// yahoo paused 4 min (429 inflight_limit)
/// ```
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RefreshHealth {
    /// Whether somebody runs it in this process.
    pub running: bool,
    /// Runs in flight in this process.
    pub in_flight: usize,
    /// In how long it wakes, where nothing happens before. Serialised in milliseconds, as `wake_in_ms`.
    #[serde(rename = "wake_in_ms", serialize_with = "millis")]
    pub wake_in: Option<Duration>,
    /// What is wrong with its store; then it goes on with what it knows, and the numbers are those known last.
    #[serde(serialize_with = "fault")]
    pub degraded: Option<StoreFault>,
    /// How often the store lost all that it held, as where its file was removed while it was open: then nothing is demanded until
    /// it is demanded anew.
    pub losses: u64,
    /// Every source, in the order in which they were added.
    pub sources: Vec<SourceHealth>,
    /// Families of theirs that are not called.
    pub paused: Vec<PausedFamily>,
}

/// How a source stands.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SourceHealth {
    /// Its name.
    pub source: Box<str>,
    /// Its family.
    pub family: Arc<str>,
    /// Keys that wait, due or not.
    pub waiting: u64,
    /// Keys that are due, and those whose run ended with its process.
    pub due: u64,
    /// Those of them that are skipped, since their family is not called: all, or none.
    pub skipped: u64,
    /// Keys that are claimed, by this process or another.
    pub running: u64,
    /// Keys that failed as often as they may: nothing happens until they are demanded again, or retried by hand.
    pub failed: u64,
    /// Keys that were limited for as long as they may be: the same holds.
    pub stalled: u64,
    /// For how long the first of them has been due. Serialised in milliseconds, as `oldest_due_ms`.
    #[serde(rename = "oldest_due_ms", serialize_with = "millis")]
    pub oldest_due: Option<Duration>,
    /// In how long the next key is due, zero where one is. Serialised in milliseconds, as `next_in_ms`.
    #[serde(rename = "next_in_ms", serialize_with = "millis")]
    pub next_in: Option<Duration>,
}

/// A family that is not called, so that its work is skipped.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PausedFamily {
    /// Its name.
    pub family: Arc<str>,
    /// Where it stands; `None` where it is not registered any more.
    pub phase: Option<HealthPhase>,
    /// For how long, where that is known. Serialised in milliseconds, as `remaining_ms`.
    #[serde(rename = "remaining_ms", serialize_with = "millis")]
    pub remaining: Option<Duration>,
    /// Why: `429 inflight_limit`, or who did it.
    pub reason: String,
}

/// A look into the store takes no longer.
const LOOK_FOR: Duration = Duration::from_secs(1);

impl Refresh {
    /// Where everything stands now. It looks into the store, for a second at most; where that does not answer, the numbers
    /// are those known last, and [`degraded`](RefreshHealth::degraded) says why.
    pub async fn health(&self) -> RefreshHealth {
        let shared = &self.0;
        let now = clock::now();
        let stamp = clock::stamp();
        let asked = timeout(LOOK_FOR, shared.store.tally(&shared.names, stamp)).await;
        let asked = asked.map_or(Err(StoreFault::TimedOut), |asked| {
            asked.map_err(|error| {
                shared.failed(&error);
                error.fault()
            })
        });
        let all = shared.families.health();
        let mut live = shared.live();
        let fault = match asked {
            Ok(tallies) => {
                live.tallies = tallies;
                live.fault
            }
            Err(fault) => Some(fault),
        };
        let closed =
            |family: &str| matches!(stands(&shared.families, family, now), Stand::Closed(_) | Stand::Probing);
        let tally = |at: usize| live.tallies.get(at).copied().unwrap_or_default();
        let sources = shared.sources.iter().enumerate();
        let sources =
            sources.map(|(at, known)| SourceHealth::of(known, &tally(at), closed(&known.family), stamp));
        let mut families: Vec<_> = shared.sources.iter().map(|known| &known.family).collect();
        families.sort_unstable();
        families.dedup();
        let paused = families.into_iter().filter(|family| closed(family));
        RefreshHealth {
            running: shared.running.is_on(),
            in_flight: live.claims.len(),
            wake_in: live.wake.map(|wake| wake.since(now)),
            degraded: fault,
            losses: live.losses,
            sources: sources.collect(),
            paused: paused.map(|family| PausedFamily::of(family, all.family(family))).collect(),
        }
    }
}

impl SourceHealth {
    fn of(known: &Known, tally: &Tally, closed: bool, stamp: Stamp) -> Self {
        Self {
            source: known.name.as_str().into(),
            family: Arc::clone(&known.family),
            waiting: tally.waiting,
            due: tally.due,
            skipped: if closed { tally.due } else { 0 },
            running: tally.running,
            failed: tally.failed,
            stalled: tally.stalled,
            oldest_due: tally.oldest_due.map(|due| stamp.since(due)),
            next_in: tally.next.map(|next| next.since(stamp)),
        }
    }
}

impl PausedFamily {
    fn of(name: &Arc<str>, health: Option<&FamilyHealth>) -> Self {
        let by = health.and_then(|family| family.operator.as_ref()).filter(|operator| operator.holds);
        let signal = health.and_then(|family| family.last_signal.as_ref());
        let reason = match (by, signal) {
            (Some(operator), _) => format!("by {}", operator.by),
            (None, Some(signal)) => match signal.status {
                Some(status) => format!("{status} {}", signal.reason),
                None => signal.reason.to_string(),
            },
            (None, None) if health.is_none() => "not registered".to_owned(),
            (None, None) => String::new(),
        };
        Self {
            family: Arc::clone(name),
            phase: health.map(|family| family.phase),
            remaining: health.and_then(|family| family.remaining),
            reason,
        }
    }
}

impl fmt::Display for RefreshHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fault) = self.degraded {
            writeln!(f, "degraded: the store is {fault}")?;
        }
        let width = self.sources.iter().map(|source| source.source.chars().count()).max().unwrap_or(0);
        for (at, source) in self.sources.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{:width$}{source}", source.source)?;
        }
        for family in &self.paused {
            write!(f, "\n{family}")?;
        }
        Ok(())
    }
}

/// Without its name: `  412 due, skipped  2 failed  oldest due 3m20s ago`.
impl fmt::Display for SourceHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.due > 0 {
            write!(f, "  {} due{}", self.due, if self.skipped > 0 { ", skipped" } else { "" })?;
        }
        for (count, what) in [(self.running, "running"), (self.failed, "failed"), (self.stalled, "stalled")] {
            if count > 0 {
                write!(f, "  {count} {what}")?;
            }
        }
        match (self.oldest_due, self.next_in) {
            (Some(ago), _) => write!(f, "  oldest due {} ago", Short(ago)),
            (None, Some(next)) => write!(f, "  next in {}", Short(next)),
            (None, None) => f.write_str("  nothing due"),
        }
    }
}

/// `yahoo paused 4 min (429 inflight_limit)`.
impl fmt::Display for PausedFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} paused", self.family)?;
        if let Some(left) = self.remaining {
            // Rounded up, so that it never says that something is over which is not.
            match left.as_millis().div_ceil(1_000) {
                seconds @ 0..60 => write!(f, " {seconds} s")?,
                seconds @ 60..7_200 => write!(f, " {} min", seconds.div_ceil(60))?,
                seconds => write!(f, " {} h", seconds.div_ceil(3_600))?,
            }
        }
        if self.reason.is_empty() { Ok(()) } else { write!(f, " ({})", self.reason) }
    }
}

fn millis<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

fn fault<S: Serializer>(fault: &Option<StoreFault>, serializer: S) -> Result<S::Ok, S::Error> {
    fault.map(StoreFault::as_str).serialize(serializer)
}
