//! Who runs a key, and until when nobody else may.

use std::time::Duration;

use super::row::{LastError, Phase, Row};
use super::stamp::Stamp;

/// Tells one claim from every other of the same key: drawn at random by who claims. Those of one batch may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// Somebody's right to run a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Whose it is.
    pub token: Token,
    /// When its lease is over, and others may claim.
    pub until: Stamp,
}

/// What somebody claims by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The time.
    pub now: Stamp,
    /// How long nobody else may claim.
    pub lease: Duration,
    /// Whose claim it is.
    pub token: Token,
    /// At how many failed attempts a key has failed. A lease that is over was an attempt.
    pub max_attempts: u32,
}

/// What a claim did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Claimed {
    /// It is the claimer's. Whether somebody else's lease was over.
    Claimed {
        /// It was claimed before, and nobody finished that.
        reclaimed: bool,
    },
    /// Its lease is over, once too often: it has failed.
    Failed,
    /// Its lease is over and nobody wants it any more: the store removes its row.
    Gone,
    /// It is not ready.
    NotReady,
}

/// What a longer lease did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Extended {
    /// It is over at the time asked for.
    Extended,
    /// It is not the claimer's any more. Said by the store too, where there is no such row.
    Stale,
}

impl Row {
    /// Somebody wants to run it.
    pub fn claim(&mut self, terms: &Terms) -> Claimed {
        if self.ready().is_none_or(|ready| ready > terms.now) {
            return Claimed::NotReady;
        }
        let reclaimed = matches!(self.phase, Phase::Running(_));
        if reclaimed {
            if self.reasons.is_empty() {
                return Claimed::Gone;
            }
            // What ended its process may have been the key itself.
            self.attempts = self.attempts.saturating_add(1);
            self.error = Some(LastError::new("its last run did not end: the process went, or hung"));
            // A demand of that time is met by this run.
            self.again = false;
            if self.attempts >= terms.max_attempts {
                self.phase = Phase::Failed;
                return Claimed::Failed;
            }
        }
        self.phase = Phase::Running(Claim { token: terms.token, until: terms.now.after(terms.lease) });
        Claimed::Claimed { reclaimed }
    }

    /// Who claimed it needs it for longer. A lease that is over can be extended while nobody else has claimed.
    pub fn extend(&mut self, token: Token, until: Stamp) -> Extended {
        match &mut self.phase {
            Phase::Running(claim) if claim.token == token => {
                claim.until = until;
                Extended::Extended
            }
            _ => Extended::Stale,
        }
    }
}
