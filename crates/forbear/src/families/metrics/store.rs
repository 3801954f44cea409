use ::metrics::{counter, describe_counter, describe_gauge, gauge};
use forbear_core::health::StoreState;

use super::number;
use crate::keeper::Keeper;

/// How the store of the families is.
pub(super) fn publish(keeper: &Keeper) {
    let health = keeper.health();
    let (written, failures) = keeper.counts();
    let store = || String::from(&*health.store);
    gauge!("forbear_store_degraded", "store" => store()).set(if health.state == StoreState::Degraded {
        1.0
    } else {
        0.0
    });
    gauge!("forbear_store_pending", "store" => store()).set(number(health.pending));
    counter!("forbear_store_rows_total", "store" => store()).absolute(written);
    counter!("forbear_store_failures_total", "store" => store()).absolute(failures);
}

pub(super) fn describe() {
    describe_gauge!("forbear_store_degraded", "1 while the store does not answer or cannot write.");
    describe_gauge!("forbear_store_pending", "Families and parts of which the store does not know the last.");
    describe_counter!("forbear_store_rows_total", "Rows that the store took.");
    describe_counter!("forbear_store_failures_total", "Times that the store did not do what it was asked.");
}
