use std::sync::Arc;
use std::time::Duration;

use crate::signal::Scope;

use crate::time::Monotonic;

use super::decision::Struck;
use super::engine::Gate;
use super::operator::Acted;

/// Something an operator is told: forbear logs one WARN per strike and one INFO per recovery.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A signal closed the gate.
    Strike {
        /// The signal, and the route that met it.
        struck: Arc<Struck>,
        /// The cool-down, from the signal to its deadline.
        cooldown: Duration,
        /// The level after the strike.
        level: u8,
        /// Whether nothing was accepted since the last strike.
        blind: bool,
    },
    /// A probe was accepted: the family is called again, at a learned pace.
    Recovery {
        /// What closed the family last; `None` where an operator's clear opened it.
        struck: Option<Arc<Struck>>,
        /// The last cool-down, from the signal to its deadline.
        cooldown: Duration,
        /// How long the family was not called, from the last strike.
        closed: Duration,
        /// The level it keeps until quiet time lowers it.
        level: u8,
        /// Attempts per second that recovery begins with.
        pace: f64,
    },
    /// A route was refused again and again while others were served: it has a gate of its own until it is accepted.
    DeadRoute {
        /// Its path.
        route: Box<str>,
    },
    /// An operator acted.
    Operator(Arc<Acted>),
}

/// How an attempt ended, as far as its family is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// Accepted: an unclassified 2xx, 3xx, 404, 409 or 422.
    Good,
    /// A signal, and the path of the request that met it, without query.
    Bad(&'a crate::signal::Signal, &'a str),
    /// No news: another status, a transport error, a timeout, cancellation, a panic.
    Neutral,
    /// Dropped before anything was sent.
    NotSent,
}

impl Outcome<'_> {
    /// What it means for the family: a signal out of a cache, or about one request alone, is no news.
    pub(super) fn weighed(self) -> Self {
        match self {
            Self::Bad(signal, _) if signal.aged || signal.scope == Scope::Request => Self::Neutral,
            other => other,
        }
    }
}

/// What came of an observed answer.
#[derive(Debug, Clone)]
pub struct Observed {
    /// What it changed.
    pub effect: Effect,
    /// The end of its cool-down; `None` while none runs.
    pub retry_at: Option<Monotonic>,
    /// What an operator is to be told of the gate that decided.
    pub events: Vec<Event>,
    /// The gate that was struck instead of the family's, where the route is apart from it from now on; `events` and
    /// `retry_at` are that gate's.
    pub apart: Option<Arc<Gate>>,
    /// What an operator is to be told of the family's gate besides.
    pub family_events: Vec<Event>,
}

/// What an observed answer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing: an open gate stays open, or the answer belongs to an older generation or epoch.
    None,
    /// It closed the gate.
    Struck,
    /// It made a running cool-down longer.
    Extended,
    /// It began the recovery.
    Recovered,
    /// It ended the probe's lease without news.
    ProbeEnded,
    /// The route that met it is apart from its family from now on; the family is open to others.
    DeadRoute,
}
