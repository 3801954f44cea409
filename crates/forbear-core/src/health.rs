//! What an operator is shown.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::families::Families;
use crate::gate::{Event, Phase, View};
use crate::signal::{Class, Reason};
use crate::time::Monotonic;

/// A snapshot of all families. Its [`Display`](fmt::Display) is a line per family:
///
/// ```text
/// yahoo   cooling 3m58s  429 inflight_limit  via /v8/finance/chart
/// github  open
/// ```
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Health {
    /// The families that have state: registered ones first, then automatic ones by name.
    pub families: Vec<FamilyHealth>,
    /// How often a host found no room for a family of its own.
    pub overflows: u64,
}

/// Where one family stands.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FamilyHealth {
    /// Its name.
    pub family: Arc<str>,
    /// Where it stands.
    pub phase: HealthPhase,
    /// Milliseconds until the phase ends, where that is known.
    #[serde(rename = "remaining_ms", serialize_with = "millis")]
    pub remaining: Option<Duration>,
    /// The level, 0 to 7.
    pub level: u8,
    /// What closed it last.
    pub last_signal: Option<LastSignal>,
    /// Attempts per second that a recovering family is called at.
    pub pace: Option<f64>,
    /// Callers that wait for it.
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

/// The last signal that closed a family.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct LastSignal {
    /// The response's status.
    pub status: u16,
    /// The kind of trouble.
    pub class: Class,
    /// A short code that says why.
    pub reason: Reason,
    /// The path of the request that met it, without query.
    pub route: Box<str>,
    /// What it was read from.
    pub evidence: String,
    /// The delay that the vendor advertised, in milliseconds.
    #[serde(rename = "advertised_ms", serialize_with = "millis")]
    pub advertised: Option<Duration>,
    /// How long ago, in milliseconds.
    #[serde(rename = "ago_ms", serialize_with = "millis")]
    pub ago: Option<Duration>,
}

fn millis<S: serde::Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

impl Health {
    /// Where all families stand at `now`, and what an operator is to be told: looking makes the changes that time
    /// brings.
    #[must_use]
    pub fn of(families: &Families, now: Monotonic) -> (Self, Vec<(Arc<str>, Event)>) {
        let mut events = Vec::new();
        let mut shown = Vec::new();
        for member in families.members() {
            let (view, news) = member.gate.view(now);
            events.extend(news.into_iter().map(|event| (Arc::clone(member.gate.name()), event)));
            shown.push(FamilyHealth::of(member.gate.name(), &view, now));
        }
        (Self { families: shown, overflows: families.overflows() }, events)
    }

    /// The family of this name, if it has state.
    #[must_use]
    pub fn family(&self, name: &str) -> Option<&FamilyHealth> {
        self.families.iter().find(|family| &*family.family == name)
    }
}

impl FamilyHealth {
    fn of(name: &Arc<str>, view: &View, now: Monotonic) -> Self {
        let class = view.struck.as_ref().map(|struck| struck.signal.class);
        let phase = match (view.phase, class) {
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
                status: struck.signal.status.as_u16(),
                class: struck.signal.class,
                reason: struck.signal.reason.clone(),
                route: struck.route.clone(),
                evidence: if evidence.value.is_empty() {
                    evidence.source.to_owned()
                } else {
                    format!("{}: {}", evidence.source, evidence.value)
                },
                advertised: struck.signal.delay.map(|delay| delay.duration),
                ago: Some(now.since(struck.at)),
            }
        });
        Self {
            family: Arc::clone(name),
            phase,
            remaining: view.until.map(|until| until.since(now)),
            level: view.level,
            last_signal,
            pace: view.pace,
            waiting: view.waiting,
            attempts: view.attempts,
            signals: view.signals,
            strikes: view.strikes,
            refusals: view.refusals,
            recoveries: view.recoveries,
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.families.iter().map(|family| family.family.chars().count()).max().unwrap_or(0);
        for (at, family) in self.families.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{:width$}  {family}", family.family)?;
        }
        Ok(())
    }
}

impl fmt::Display for FamilyHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.phase)?;
        if let Some(remaining) =
            self.remaining.filter(|left| self.phase != HealthPhase::Open && !left.is_zero())
        {
            write!(f, " {}", Short(remaining))?;
        }
        if let Some(pace) = self.pace {
            write!(f, " at {pace:.1}/s")?;
        }
        if let Some(last) = self.last_signal.as_ref().filter(|_| self.phase != HealthPhase::Open) {
            write!(f, "  {} {}  via {}", last.status, last.reason, last.route)?;
        }
        if self.waiting > 0 {
            write!(f, "  {} waiting", self.waiting)?;
        }
        Ok(())
    }
}

impl fmt::Display for HealthPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Cooling => "cooling",
            Self::Exhausted => "exhausted",
            Self::Blocked => "blocked",
            Self::Probing => "probing",
            Self::Recovering => "recovering",
            Self::Paused => "paused",
        })
    }
}

/// A duration a person reads at a glance: `1h02m`, `3m58s`, `4.2s`, `250ms`. Rounded up, so that it never says that
/// something is over which is not.
#[derive(Debug, Clone, Copy)]
pub struct Short(pub Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_nanos().div_ceil(1_000_000);
        let seconds = millis.div_ceil(1000);
        let (minutes, hours) = (seconds / 60, seconds / 3600);
        match millis {
            0..1_000 => write!(f, "{millis}ms"),
            1_000..10_000 => write!(
                f,
                "{:.1}s",
                Duration::from_millis(u64::try_from(millis.div_ceil(100)).unwrap_or(0).saturating_mul(100))
                    .as_secs_f64()
            ),
            _ if minutes == 0 => write!(f, "{seconds}s"),
            _ if hours == 0 => write!(f, "{minutes}m{:02}s", seconds % 60),
            _ => write!(f, "{hours}h{:02}m", minutes % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Family;
    use crate::gate::Outcome;
    use crate::signal::Signal;
    use http::StatusCode;

    #[test]
    fn durations_are_short_and_round_up() {
        let shown = |millis| Short(Duration::from_millis(millis)).to_string();
        assert_eq!(
            [shown(0), shown(250), shown(4_150), shown(9_990), shown(12_001)],
            ["0ms", "250ms", "4.2s", "10.0s", "13s"]
        );
        assert_eq!([shown(237_500), shown(3_720_000)], ["3m58s", "1h02m"]);
    }

    #[test]
    fn an_operator_sees_who_cools_for_how_long_and_why() {
        let families =
            Families::builder().family(Family::new("yahoo")).family(Family::new("github")).build().unwrap();
        let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
        let gate = &families.named("yahoo").unwrap().gate;
        let ticket = gate.admit_open(at(1)).unwrap();
        let signal = Signal::new(Class::Overloaded, StatusCode::TOO_MANY_REQUESTS)
            .delay(Duration::from_secs(240))
            .reason("inflight_limit");
        let _ = gate.observe(&ticket, Outcome::Bad(&signal, "/v8/finance/chart"), at(1));
        let (health, _) = Health::of(&families, at(3));
        assert_eq!(
            health.to_string(),
            "yahoo   cooling 3m58s  429 inflight_limit  via /v8/finance/chart\ngithub  open"
        );
        let (over, _) = Health::of(&families, at(600));
        assert_eq!(
            over.family("yahoo").unwrap().to_string(),
            "probing  429 inflight_limit  via /v8/finance/chart"
        );
        let json = serde_json::to_value(&health).unwrap();
        assert_eq!(json["families"][0]["phase"], "cooling");
        assert_eq!(json["families"][0]["remaining_ms"], 238_000);
        assert_eq!(json["families"][0]["last_signal"]["reason"], "inflight_limit");
        assert_eq!(json["families"][0]["last_signal"]["advertised_ms"], 240_000);
    }
}
