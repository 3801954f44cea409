use std::time::Duration;

use crate::time::Monotonic;

use super::pacer::Pacer;
use super::settings::Pacing;
use super::totals::PacingTotals;

/// What an operator is shown of a pacer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PacingView {
    /// Its limits.
    pub pacing: Pacing,
    /// Attempts that wait, in the queues of partitions too.
    pub queued: usize,
    /// Attempts in flight, of the whole family; `None` where they are not counted, since nothing limits them.
    pub in_flight: Option<u32>,
    /// How many may be in flight; lower than configured where the vendor said that it was too much.
    pub in_flight_limit: Option<u32>,
    /// How long until the next attempt may go; zero where it may go now, or where nobody knows.
    pub next_in: Duration,
    /// How long what the vendor says is left holds; `None` where it does not steer.
    pub steered_for: Option<Duration>,
    /// Whether the vendor lowered what may be in flight.
    pub lowered: bool,
    /// Further attempts that the retry quota has left.
    pub retries_left: Option<u64>,
    /// What it did, and the pacers of its partitions.
    pub totals: PacingTotals,
}

impl Pacer {
    /// What an operator is shown at `now`.
    #[must_use]
    pub fn view(&self, now: Monotonic) -> PacingView {
        let mut view = self.with(|state| {
            let now = state.advance(now);
            PacingView {
                pacing: state.settings.clone(),
                queued: state.queue.len(),
                in_flight: state.in_flight.is_counted().then_some(state.in_flight.count),
                in_flight_limit: state.in_flight.limit(),
                next_in: state.next_at(now).map_or(Duration::ZERO, |at| at.since(now)),
                steered_for: state.steering.spread.map(|spread| spread.until.since(now)),
                lowered: state.in_flight.is_steered(),
                retries_left: self.retries.limits().then(|| self.retries.left()),
                totals: state.totals,
            }
        });
        for part in self.all_parts() {
            let state = part.lock();
            view.queued = view.queued.saturating_add(state.queue.len());
            view.totals = view.totals.and(&state.totals);
        }
        view
    }

    /// What it did since it was made, and the pacers of its partitions.
    #[must_use]
    pub fn totals(&self) -> PacingTotals {
        let totals = self.lock().totals;
        self.all_parts().iter().fold(totals, |totals, part| totals.and(&part.lock().totals))
    }
}
