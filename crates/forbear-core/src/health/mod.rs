//! What an operator is shown.

mod display;
mod pacing;
mod short;
mod stale;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::families::Families;
use crate::gate::{Event, Gate, Operator, Phase, View};
use crate::signal::{Class, Reason};
use crate::time::Monotonic;

pub use pacing::PacingHealth;
pub use short::Short;
pub use stale::StaleHealth;
pub use store::{StoreHealth, StoreState};

/// A snapshot of all families. Its [`Display`](std::fmt::Display) is a line per family:
///
/// ```text
/// yahoo   cooling 3m58s  429 inflight_limit  via /v8/finance/chart
/// github  open
/// search  paused  by alice: contract ended
/// ```
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Health {
    /// Whether this process can serve: until it shuts down. Calm: no vendor's trouble changes it, since taking this
    /// process out of rotation mends nothing. For a readiness probe, whose body may name what is [degraded](FamilyHealth::degraded).
    pub ready: bool,
    /// The families that have state: registered ones first, then automatic ones by name. An automatic one whose cool-down
    /// is over is left out once its level is down and nobody has asked for it for 15 minutes; it is probed when it is called.
    pub families: Vec<FamilyHealth>,
    /// How often a host found no room for a family of its own.
    pub overflows: u64,
    /// Requests that no family had, and that were refused for it.
    pub unknown: u64,
    /// Shadow mode: refusals are what would have been refused; everything is sent.
    pub shadow: bool,
    /// Nobody waits any more: who would have to is refused.
    pub shutting_down: bool,
    /// What is stored of the answers of all automatic families together, and of hosts that have no family, where anybody looked
    /// for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<StaleHealth>,
    /// What keeps this beyond the process, where something does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<StoreHealth>,
}

/// Where one family stands.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FamilyHealth {
    /// Its name.
    pub family: Arc<str>,
    /// Which part of it, where it is one with limits of its own: digits of a keyed hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Box<str>>,
    /// Its parts that are not open, at most 20, the longest first; without those that nobody asks for any more, as above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<FamilyHealth>,
    /// How many parts are not open.
    pub closed_partitions: usize,
    /// Whether it was made for a host that nobody registered.
    pub automatic: bool,
    /// Where it stands.
    pub phase: HealthPhase,
    /// Whether it is in trouble for longer than a vendor's ordinary "not now": not called, and at its ladder's top rung
    /// or without an accepted attempt for 15 minutes while somebody asks. Never for a cool-down that the vendor advertised,
    /// in the first 15 minutes, nor where an operator did it.
    pub degraded: bool,
    /// For how long it has stood there; `None` where it never stood anywhere else. Serialised in milliseconds, as `since_ms`.
    #[serde(rename = "since_ms", serialize_with = "millis")]
    pub since: Option<Duration>,
    /// How long until the phase ends, where that is known. Serialised in milliseconds, as `remaining_ms`.
    #[serde(rename = "remaining_ms", serialize_with = "millis")]
    pub remaining: Option<Duration>,
    /// The level, 0 to 7.
    pub level: u8,
    /// What closed it last.
    pub last_signal: Option<LastSignal>,
    /// What an operator did: the act that holds, where one does, else the last one.
    pub operator: Option<OperatorHealth>,
    /// Attempts per second that a recovering family is called at.
    pub pace: Option<f64>,
    /// How it is paced before any signal arrives, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingHealth>,
    /// What is stored of its answers, and what was served of that, where anybody looked for it. Of automatic families it is
    /// counted [together](Health::stale).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<StaleHealth>,
    /// Callers that wait for it, or for a part of it.
    pub waiting: usize,
    /// Attempts admitted.
    pub attempts: u64,
    /// Signals observed.
    pub signals: u64,
    /// Signals that closed the family.
    pub strikes: u64,
    /// Refusals given.
    pub refusals: u64,
    /// Recoveries begun.
    pub recoveries: u64,
}

/// Where a family stands, in an operator's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum HealthPhase {
    /// Called freely.
    Open,
    /// Not called.
    Cooling,
    /// Not called: a quota that will not come back soon.
    Exhausted,
    /// Not called: a ban.
    Blocked,
    /// One attempt is let through.
    Probing,
    /// Called at a learned pace.
    Recovering,
    /// Paused by an operator.
    Paused,
}

impl HealthPhase {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Open,
        Self::Cooling,
        Self::Exhausted,
        Self::Blocked,
        Self::Probing,
        Self::Recovering,
        Self::Paused,
    ];

    /// The word for it in health and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Cooling => "cooling",
            Self::Exhausted => "exhausted",
            Self::Blocked => "blocked",
            Self::Probing => "probing",
            Self::Recovering => "recovering",
            Self::Paused => "paused",
        }
    }
}

/// The last signal that closed a family.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct LastSignal {
    /// The response's status; `None` where what answered was not HTTP.
    pub status: Option<u16>,
    /// The kind of trouble.
    pub class: Class,
    /// A short code that says why.
    pub reason: Reason,
    /// The path of the request that met it, without query; empty where what was called has no name.
    pub route: Box<str>,
    /// What it was read from.
    pub evidence: String,
    /// The delay that the vendor advertised. Serialised in milliseconds, as `advertised_ms`.
    #[serde(rename = "advertised_ms", serialize_with = "millis")]
    pub advertised: Option<Duration>,
    /// How long ago. Serialised in milliseconds, as `ago_ms`.
    #[serde(rename = "ago_ms", serialize_with = "millis")]
    pub ago: Option<Duration>,
}

/// What an operator did.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct OperatorHealth {
    /// `cool`, `clear`, `pause` or `resume`.
    pub act: &'static str,
    /// Who, and why.
    #[serde(flatten)]
    pub by: Operator,
    /// How long ago. Serialised in milliseconds, as `ago_ms`.
    #[serde(rename = "ago_ms", serialize_with = "millis")]
    pub ago: Option<Duration>,
    /// Whether the family stands as it does because of that, and not because of its vendor or of time.
    pub holds: bool,
}

/// So many parts of a family are shown.
const MOST_PARTITIONS: usize = 20;
/// So long without an accepted attempt, and a family is degraded; so long without anybody who asks, and it is not.
const UNSERVED: Duration = Duration::from_secs(15 * 60);

fn millis<S: serde::Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

impl Health {
    /// Where all families stand at `now`, and what an operator is to be told: looking makes the changes that time
    /// brings.
    #[must_use]
    pub fn of(families: &Families, now: Monotonic) -> (Self, Vec<(Arc<Gate>, Event)>) {
        let mut events = Vec::new();
        let mut shown = Vec::new();
        for member in families.members() {
            // `None` where it was made for a key from outside that nobody has asked for any more.
            let mut look = |gate: &Arc<Gate>, made: bool| {
                let (view, news) = gate.view(now);
                events.extend(news.into_iter().map(|event| (Arc::clone(gate), event)));
                (!made || !is_forgotten(gate, &view, now)).then(|| FamilyHealth::of(gate, &view, now))
            };
            let Some(mut family) = look(&member.gate, member.automatic) else { continue };
            family.automatic = member.automatic;
            family.stale = StaleHealth::of(&member);
            let partitions = member.gate.partitions();
            family.partitions = partitions.iter().filter_map(|gate| look(gate, true)).collect();
            family.partitions.retain(|partition| partition.phase != HealthPhase::Open);
            family.partitions.sort_by(|one, other| {
                (other.remaining, &one.partition).cmp(&(one.remaining, &other.partition))
            });
            family.closed_partitions = family.partitions.len();
            let waiting = family.partitions.iter().map(|partition| partition.waiting);
            family.waiting = waiting.fold(family.waiting, usize::saturating_add);
            family.partitions.truncate(MOST_PARTITIONS);
            shown.push(family);
        }
        let health = Self {
            ready: !families.shuts_down(),
            families: shown,
            overflows: families.overflows(),
            unknown: families.unknown(),
            shadow: families.shadows(),
            shutting_down: families.shuts_down(),
            stale: StaleHealth::of_others(families),
            stores: Vec::new(),
        };
        (health, events)
    }

    /// The families that are in trouble for longer than a vendor's ordinary "not now".
    pub fn degraded(&self) -> impl Iterator<Item = &FamilyHealth> {
        self.families.iter().filter(|family| family.degraded)
    }

    /// The family of this name, if it has state.
    #[must_use]
    pub fn family(&self, name: &str) -> Option<&FamilyHealth> {
        self.families.iter().find(|family| &*family.family == name)
    }
}

impl FamilyHealth {
    fn of(gate: &Gate, view: &View, now: Monotonic) -> Self {
        let phase = match (view.phase, view.class) {
            (Phase::Open, _) => HealthPhase::Open,
            (Phase::Cooling, Some(Class::Exhausted)) => HealthPhase::Exhausted,
            (Phase::Cooling, Some(Class::Blocked)) => HealthPhase::Blocked,
            (Phase::Cooling, _) => HealthPhase::Cooling,
            (Phase::Probing, _) => HealthPhase::Probing,
            (Phase::Recovering, _) => HealthPhase::Recovering,
            (Phase::Paused, _) => HealthPhase::Paused,
        };
        let last_signal = view.struck.as_ref().map(|struck| {
            let evidence = &struck.signal.evidence;
            LastSignal {
                status: struck.signal.status.map(|status| status.as_u16()),
                class: struck.signal.class,
                reason: struck.signal.reason.clone(),
                route: struck.route.clone(),
                evidence: if evidence.value.is_empty() {
                    evidence.source.clone().into_owned()
                } else {
                    format!("{}: {}", evidence.source, evidence.value)
                },
                advertised: struck.signal.delay.map(|delay| delay.duration),
                ago: Some(now.since(struck.at)),
            }
        });
        let operator = view.acted.as_ref().map(|acted| OperatorHealth {
            act: acted.act.as_str(),
            by: acted.by.clone(),
            ago: Some(now.since(acted.at)),
            holds: view.by_operator,
        });
        Self {
            family: Arc::clone(gate.name()),
            partition: gate.partition_label().map(Into::into),
            partitions: Vec::new(),
            closed_partitions: 0,
            automatic: false,
            phase,
            degraded: is_degraded(view, now),
            since: (view.since > Monotonic::ORIGIN).then(|| now.since(view.since)),
            operator,
            remaining: view.until.map(|until| until.since(now)),
            level: view.level,
            last_signal,
            pace: view.pace,
            pacing: PacingHealth::of(gate, now),
            stale: None,
            waiting: view.waiting,
            attempts: view.attempts,
            signals: view.signals,
            strikes: view.strikes,
            refusals: view.refusals,
            recoveries: view.recoveries,
        }
    }
}

fn is_degraded(view: &View, now: Monotonic) -> bool {
    let Some(since) = view.unserved_since.filter(|_| !view.by_operator) else { return false };
    if !matches!(view.phase, Phase::Cooling | Phase::Probing) {
        return false;
    }
    let unserved = now.since(since) >= UNSERVED && now.since(view.asked) < UNSERVED;
    unserved || (view.top_rung && !view.advertised)
}

/// Whether its cool-down is long over, nothing would be lost with it, and nobody asked since: there may be ten thousand such,
/// of hosts and credentials that are not called again.
fn is_forgotten(gate: &Gate, view: &View, now: Monotonic) -> bool {
    view.phase == Phase::Probing && now.since(view.asked) >= UNSERVED && gate.is_idle(now)
}
