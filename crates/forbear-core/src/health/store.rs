use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::millis;
use super::short::Short;

/// How what keeps the families' state beyond this process is.
#[derive(Debug, Clone, Serialize)]
pub struct StoreHealth {
    /// The kind of store, such as `sqlite`.
    pub store: Box<str>,
    /// How it is.
    pub state: StoreState,
    /// Why, where it is degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<str>>,
    /// For how long it has been so. Serialised in milliseconds, as `since_ms`.
    #[serde(rename = "since_ms", serialize_with = "millis")]
    pub since: Option<Duration>,
    /// Families and parts of which it does not know the last yet.
    pub pending: usize,
    /// Something to know for as long as the process lives, such as what became of a file that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Box<str>>,
}

/// How a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StoreState {
    /// It was asked what it held, and has not answered yet.
    Loading,
    /// It answers.
    Ready,
    /// It does not answer, or cannot write: what is known goes on, and is written when it can.
    Degraded,
}

impl StoreState {
    /// The word for it in health.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
        }
    }
}

impl StoreHealth {
    /// Whether there is something to tell an operator.
    #[must_use]
    pub fn is_worth_a_line(&self) -> bool {
        self.state == StoreState::Degraded || self.note.is_some()
    }
}

/// `store sqlite degraded 3m12s: disk I/O error; 4 not written`.
impl fmt::Display for StoreHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store {} {}", self.store, self.state.as_str())?;
        if let Some(since) = self.since.filter(|_| self.state == StoreState::Degraded) {
            write!(f, " {}", Short(since))?;
        }
        if let Some(cause) = &self.cause {
            write!(f, ": {cause}")?;
        }
        if self.pending > 0 && self.state == StoreState::Degraded {
            write!(f, "; {} not written", self.pending)?;
        }
        if let Some(note) = &self.note {
            write!(f, "; {note}")?;
        }
        Ok(())
    }
}
