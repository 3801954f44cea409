use std::sync::Arc;
use std::time::Duration;

use crate::gate::{Operator, Transition};
use crate::partition::Partition;

/// What a family, or a part of one, is known by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CooldownKey {
    /// The name of a registered family, or the host of an automatic one. Health shows it too.
    pub family: Arc<str>,
    /// Whether it was made for a host.
    pub automatic: bool,
    /// Which part of it; `None` where it is the whole.
    pub part: Option<Part>,
}

/// A part of a family, such as a credential: a keyed hash, and what health calls it.
#[derive(Debug, Clone)]
pub struct Part {
    /// The keyed hash.
    pub of: Partition,
    /// What health calls it: digits of that hash, or a bucket or a route by its name.
    pub label: Box<str>,
}

impl Part {
    /// What a store knows it by: zero is the whole family, which no hash is.
    #[must_use]
    pub fn stored(part: Option<&Self>) -> u64 {
        part.map_or(0, |part| part.of.to_stored())
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.of == other.of
    }
}

impl Eq for Part {}

impl std::hash::Hash for Part {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.of.hash(state);
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.of.to_stored().cmp(&other.of.to_stored())
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Where a family or a part of one stands, on its way to a store or back.
#[derive(Debug, Clone, PartialEq)]
pub struct CooldownEntry {
    /// Which.
    pub key: CooldownKey,
    /// Where it stands. Only time that remains travels, never a clock.
    pub transition: Transition,
    /// Whether an operator paused it.
    pub pause: Pause,
}

impl CooldownEntry {
    /// Whether a gate that met nothing yet stands no worse: its cool-down is over, its level is down, nobody paused it. What was
    /// not probed since says something for as long as its level.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
        let Transition { level, length, remaining, quiet, .. } = &self.transition;
        let spans = quiet.as_nanos().checked_div(span(*length).as_nanos()).unwrap_or(u128::MAX);
        remaining.is_zero() && spans >= u128::from(*level) && !matches!(self.pause, Pause::On { .. })
    }
}

/// So much quiet time takes a rung off: the gate's rule.
pub(super) fn span(length: Duration) -> Duration {
    length.saturating_mul(2).max(Duration::from_secs(10))
}

/// What an operator did about a family being called at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pause {
    /// To a store: nothing that it would not know. From one: it is not paused.
    AsBefore,
    /// Paused.
    On {
        /// By whom, and why.
        by: Operator,
        /// For how long it has been.
        since: Duration,
    },
    /// Not paused, whatever was before.
    Off,
}
