use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::gate::Gate;
use crate::pacing::PacingCause;
use crate::time::Monotonic;

use super::millis;

/// How a family is paced, before any signal arrives.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PacingHealth {
    /// Its limits, to read: `100 per 1m00s`, `gap 50ms`, `8 in flight`.
    pub limits: Vec<String>,
    /// Attempts that wait in its queue, and in those of its partitions.
    pub queued: usize,
    /// Attempts in flight; `None` where nothing limits them.
    pub in_flight: Option<u32>,
    /// How many may be in flight; lower than its limits say where the vendor said that it was too much.
    pub in_flight_limit: Option<u32>,
    /// How long until the next attempt may go; zero where it may go now. Serialised in milliseconds, as `next_in_ms`.
    #[serde(rename = "next_in_ms", serialize_with = "millis")]
    pub next_in: Option<Duration>,
    /// How long what the vendor says is left holds, where it steers. Serialised in milliseconds, as `steered_ms`.
    #[serde(rename = "steered_ms", serialize_with = "millis")]
    pub steered: Option<Duration>,
    /// Further attempts that the retry quota has left, where there is one.
    pub retries_left: Option<u64>,
    /// Attempts that waited in a queue, however it ended.
    pub waited: u64,
    /// Refusals by their cause, of those that were ever given.
    pub refusals: BTreeMap<&'static str, u64>,
}

impl PacingHealth {
    pub(super) fn of(gate: &Gate, now: Monotonic) -> Option<Self> {
        // A part's pacing is its family's.
        let pacer = gate.pacer().filter(|_| gate.partition_label().is_none())?;
        let view = pacer.view(now);
        let refusals = PacingCause::ALL.map(|cause| (cause.as_str(), view.totals.refusals(cause)));
        Some(Self {
            limits: view.pacing.limits(),
            queued: view.queued,
            in_flight: view.in_flight,
            in_flight_limit: view.in_flight_limit,
            next_in: Some(view.next_in),
            steered: view.steered_for,
            retries_left: view.retries_left,
            waited: view.totals.waited,
            refusals: refusals.into_iter().filter(|(_, count)| *count > 0).collect(),
        })
    }
}
