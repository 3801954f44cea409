//! What was served of stored answers, of families for which anybody looked for them.

use std::sync::Arc;

use ::metrics::{SharedString, Unit, counter, describe_counter, describe_gauge, gauge};
use forbear_core::stale::{Because, StaleTotals};

/// What the family called `name` was served, and what is stored of it.
pub(super) fn publish(name: &Arc<str>, totals: &StaleTotals) {
    let family = || SharedString::from(Arc::clone(name));
    for (served, count) in [
        ("live", totals.live),
        ("fresh", totals.fresh),
        ("stale", totals.stale()),
        ("fallback", totals.fallbacks),
        ("refused", totals.refused),
    ] {
        counter!("forbear_stale_answers_total", "family" => family(), "served" => served).absolute(count);
    }
    for because in Because::ALL {
        counter!("forbear_stale_causes_total", "family" => family(), "because" => because.as_str())
            .absolute(totals.because(because));
    }
    counter!("forbear_stale_coalesced_total", "family" => family()).absolute(totals.coalesced);
    counter!("forbear_stale_stored_total", "family" => family()).absolute(totals.stored);
    counter!("forbear_stale_unstored_total", "family" => family()).absolute(totals.unstored);
    gauge!("forbear_stale_entries", "family" => family()).set(number(totals.entries));
    gauge!("forbear_stale_bytes", "family" => family()).set(number(totals.bytes));
}

#[expect(clippy::cast_precision_loss, reason = "nobody stores 2^52 bytes")]
fn number(count: u64) -> f64 {
    count as f64
}

pub(super) fn describe() {
    describe_counter!(
        "forbear_stale_answers_total",
        "Requests for which a stored answer was looked for, by what was served."
    );
    describe_counter!("forbear_stale_causes_total", "Old answers that were served, by the cause.");
    describe_counter!("forbear_stale_coalesced_total", "Requests that waited for the attempt of another.");
    describe_counter!("forbear_stale_stored_total", "Answers that were stored, or confirmed.");
    describe_counter!(
        "forbear_stale_unstored_total",
        "Answers that may not be stored, are too large, or broke off."
    );
    describe_gauge!("forbear_stale_entries", "Answers that are stored.");
    describe_gauge!("forbear_stale_bytes", Unit::Bytes, "Memory that stored answers take, about.");
}
