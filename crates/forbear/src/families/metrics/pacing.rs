//! What pacing did, and where it stands, of families that are paced or were.

use std::sync::Arc;

use ::metrics::{SharedString, counter, describe_counter, describe_gauge, gauge};
use forbear_core::health::PacingHealth;
use forbear_core::pacing::{PacingCause, PacingTotals};

use super::number;

/// How the family called `name` is paced now; `None` where it is not any more.
pub(super) fn publish(name: &Arc<str>, totals: &PacingTotals, now: Option<&PacingHealth>) {
    let family = || SharedString::from(Arc::clone(name));
    counter!("forbear_paced_total", "family" => family()).absolute(totals.waited);
    counter!("forbear_steered_total", "family" => family()).absolute(totals.steered);
    for cause in PacingCause::ALL {
        counter!("forbear_pacing_refusals_total", "family" => family(), "cause" => cause.as_str())
            .absolute(totals.refusals(cause));
    }
    let queued = now.map_or(0, |pacing| pacing.queued);
    gauge!("forbear_queued", "family" => family()).set(number(queued));
    let in_flight = now.and_then(|pacing| pacing.in_flight).unwrap_or_default();
    gauge!("forbear_in_flight", "family" => family()).set(f64::from(in_flight));
}

pub(super) fn describe() {
    describe_counter!("forbear_paced_total", "Attempts that waited for their turn, however it ended.");
    describe_counter!("forbear_steered_total", "Times that the vendor's word made pacing slower.");
    describe_counter!("forbear_pacing_refusals_total", "Attempts that pacing did not let go.");
    describe_gauge!("forbear_queued", "Attempts that wait for their turn.");
    describe_gauge!("forbear_in_flight", "Attempts in flight, where pacing limits them.");
}
