use std::fmt;

use serde::Serialize;

use crate::signal::clean;

use super::claim::Claim;
use super::names::DemandReason;
use super::reasons::Reasons;
use super::stamp::Stamp;

/// All that is known of one key of a source. Its fields are open so that a store can write and read them; they are
/// changed by its functions alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Who wants it. Nobody, while it runs: then it ends with its run.
    pub reasons: Reasons,
    /// Where it stands.
    pub phase: Phase,
    /// When it is due; while it runs, when it was.
    pub due: Stamp,
    /// Not due before, whoever demands it: the gap after its last run.
    pub earliest: Stamp,
    /// Whether it was demanded or invalidated while it runs: it runs once more then.
    pub again: bool,
    /// Runs that failed since it was done last.
    pub attempts: u32,
    /// Runs that were refused or limited since it was done last. They cost no attempt.
    pub deferrals: u32,
    /// Since when its runs end so, and in no other way.
    pub deferred_since: Option<Stamp>,
    /// When it was done last.
    pub done: Option<Stamp>,
    /// Why it was not done since.
    pub error: Option<LastError>,
}

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It runs when it is due.
    Waiting,
    /// Somebody runs it.
    Running(Claim),
    /// It failed as often as it may. Nothing happens until it is demanded again, or retried by hand.
    Failed,
    /// It was refused or limited for as long as it may be. Nothing happens until it is demanded again, or retried by hand.
    Stalled,
}

/// Why a key was not done: a line of at most [`LastError::MOST`] bytes without control characters.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LastError(Box<str>);

impl Row {
    /// A key that is wanted for the first time: due now.
    #[must_use]
    pub fn new(reason: &DemandReason, now: Stamp) -> Self {
        Self {
            reasons: std::iter::once(reason.clone()).collect(),
            phase: Phase::Waiting,
            due: now,
            earliest: Stamp::EPOCH,
            again: false,
            attempts: 0,
            deferrals: 0,
            deferred_since: None,
            done: None,
            error: None,
        }
    }

    /// When it can be claimed: when it is due, or its lease is over. `None` where nothing happens by itself. A store has
    /// an index of (source, this, key), by which it claims.
    #[must_use]
    pub fn ready(&self) -> Option<Stamp> {
        match self.phase {
            Phase::Waiting => Some(self.due),
            Phase::Running(claim) => Some(claim.until),
            Phase::Failed | Phase::Stalled => None,
        }
    }
}

impl Phase {
    /// `waiting`, `running`, `failed`, `stalled`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running(_) => "running",
            Self::Failed => "failed",
            Self::Stalled => "stalled",
        }
    }
}

impl LastError {
    /// The most bytes it has.
    pub const MOST: usize = 200;

    /// Cleans and cuts what somebody says.
    #[must_use]
    pub fn new(words: &str) -> Self {
        Self(clean(words, Self::MOST).into())
    }

    /// The line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
