use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::store::WorkStore;
use forbear_core::work::SourceName;

use super::Refresh;
use super::job::{Job, SourceOf};
use super::shared::{Known, Shared};
use super::source::Source;
use crate::Families;

/// Collects sources. See [`Refresh::builder`].
#[must_use = "call `build` to get the refresh"]
pub struct RefreshBuilder<V> {
    families: Families,
    vendor: V,
    store: Arc<dyn WorkStore>,
    sources: Vec<(Source, Make<V>)>,
    settings: Settings,
    weights: BTreeMap<String, u32>,
}

type Make<V> = Box<dyn FnOnce(&V, &crate::FamilyGate) -> Job + Send>;

/// What holds for all sources.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) in_flight: usize,
    pub(super) tick: Duration,
    pub(super) grace: Duration,
    pub(super) lease: Duration,
    pub(super) look_every: Option<Duration>,
}

/// Refresh work that cannot be built: it says what is wrong, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRefresh(String);

/// So many runs in flight are more than anybody means.
const MOST: usize = 65_536;
/// No span is longer; so their sums do not overflow.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

impl fmt::Display for InvalidRefresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidRefresh {}

impl<V> RefreshBuilder<V> {
    pub(super) fn new(families: Families, vendor: V, store: Arc<dyn WorkStore>) -> Self {
        let settings = Settings {
            in_flight: 16,
            tick: Duration::from_millis(100),
            grace: Duration::from_secs(10),
            lease: Duration::from_secs(60),
            look_every: None,
        };
        Self { families, vendor, store, sources: Vec::new(), settings, weights: BTreeMap::new() }
    }

    /// Adds a source: complete with `store`, as an [`HttpSource`](super::HttpSource) or a
    /// [`GateSource`](super::GateSource).
    pub fn source<S: SourceOf<V> + Send + 'static>(mut self, source: S) -> Self {
        let settings = source.source().clone();
        self.sources.push((settings, Box::new(move |vendor, gate| source.job(vendor, gate))));
        self
    }

    /// How many runs may be in flight at once, of all families (16; at most 65,536). Where there are several families, none has more
    /// than half of them.
    pub fn in_flight(mut self, most: usize) -> Self {
        self.settings.in_flight = most;
        self
    }

    /// How often each family's [drain](Source::drain) begins anew (100 ms).
    pub fn tick(mut self, every: Duration) -> Self {
        self.settings.tick = every;
        self
    }

    /// How large the share of a family is beside others, where there is not room for all (1).
    pub fn weight(mut self, family: impl Into<String>, share: u32) -> Self {
        self.weights.insert(family.into(), share);
        self
    }

    /// How long runs that are in flight may go on after the shutdown (10 s).
    pub fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// How long a claim lasts that nobody extends (60 s): so long after a process went its keys run again. Runs that are
    /// longer are extended as they go.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// Looks into the store so often, whether or not anything happened (never): for a store into which other processes write
    /// demands.
    pub fn look_every(mut self, every: Duration) -> Self {
        self.settings.look_every = Some(every);
        self
    }

    /// Checks everything, and makes the refresh. Nothing runs until [`Refresh::run`].
    ///
    /// # Errors
    /// [`InvalidRefresh`] names the source, the value that is wrong and what is allowed: a source without a family, or with
    /// one that is not registered, two of one name, a number that cannot work.
    pub fn build(self) -> Result<Refresh, InvalidRefresh> {
        let Self { families, vendor, store, sources, settings, weights } = self;
        check_settings(&settings)?;
        if sources.is_empty() {
            return Err(InvalidRefresh("there is no source; add one".into()));
        }
        let mut known: Vec<Known> = Vec::new();
        for (source, make) in sources {
            let wrong = |why: String| InvalidRefresh(format!("source {:?}: {why}", source.name));
            let name = SourceName::new(&source.name).map_err(|name| InvalidRefresh(name.to_string()))?;
            if known.iter().any(|other| other.name == name) {
                return Err(wrong("is there twice; give every source a name of its own".into()));
            }
            check(&source).map_err(wrong)?;
            let family = source.family.clone().unwrap_or_default();
            if families.0.named(&family).is_none() {
                return Err(wrong(format!(
                    "family {family:?} is not registered; register it, or correct the name"
                )));
            }
            let gate = families.gate(&family).map_err(|unknown| wrong(unknown.to_string()))?;
            known.push(Known::new(name, family, source, make(&vendor, &gate)));
        }
        for (family, share) in &weights {
            let wrong = |why| Err(InvalidRefresh(format!("weight of family {family:?} {why}")));
            if !known.iter().any(|source| *source.family == **family) {
                return wrong("is of no source; give a source that family, or leave the weight out");
            }
            if *share == 0 {
                return wrong("is 0; at least 1 is allowed");
            }
        }
        Ok(Refresh(Arc::new(Shared::new(families, store, known, settings, weights))))
    }
}

impl<V> fmt::Debug for RefreshBuilder<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<_> = self.sources.iter().map(|(source, _)| source).collect();
        f.debug_struct("RefreshBuilder").field("sources", &sources).finish_non_exhaustive()
    }
}

fn check_settings(settings: &Settings) -> Result<(), InvalidRefresh> {
    let wrong = |why: &str| Err(InvalidRefresh(why.to_owned()));
    if NonZeroUsize::new(settings.in_flight).is_none() {
        return wrong("in_flight is 0; at least 1 is allowed");
    }
    if settings.in_flight > MOST {
        return wrong("in_flight is more than 65536, which is allowed");
    }
    if settings.tick < Duration::from_millis(1) {
        return wrong("tick is shorter than 1 ms; 1 ms and more is allowed");
    }
    if settings.tick > LONGEST || settings.lease > LONGEST || settings.grace > LONGEST {
        return wrong("tick, lease or grace is longer than ten years, which is allowed");
    }
    if settings.lease < Duration::from_secs(1) {
        return wrong("lease is shorter than 1 s; 1 s and more is allowed");
    }
    if settings.look_every.is_some_and(|every| every < Duration::from_millis(10)) {
        return wrong("look_every is shorter than 10 ms; 10 ms and more is allowed");
    }
    Ok(())
}

fn check(source: &Source) -> Result<(), String> {
    let Source { family, every, gap, drain, priority, jitter, timeout, max_attempts, backoff, stall, .. } =
        source;
    let text = match () {
        () if family.is_none() => "has no family; name the family whose limit it counts against",
        () if *every < Duration::from_millis(1) => "every is shorter than 1 ms; 1 ms and more is allowed",
        () if [*every, backoff.1, *timeout, *stall].iter().any(|span| *span > LONGEST) => {
            "every, backoff, timeout or stall is longer than ten years, which is allowed"
        }
        () if gap > every => "gap is longer than every; at most every is allowed",
        () if *drain == 0 => "drain is 0; at least 1 is allowed",
        () if *priority == 0 => "priority is 0; at least 1 is allowed",
        () if !(0.0..=1.0).contains(jitter) => "jitter is not between 0 and 1, which is allowed",
        () if timeout.is_zero() => "timeout is 0; more than 0 is allowed",
        () if *max_attempts == 0 => "max_attempts is 0; at least 1 is allowed",
        () if backoff.0.is_zero() || backoff.0 > backoff.1 => {
            "backoff does not rise from more than 0; first must be more than 0, and most at least first"
        }
        () if stall.is_zero() => "stall is 0; more than 0 is allowed",
        () => return Ok(()),
    };
    Err(text.to_owned())
}
