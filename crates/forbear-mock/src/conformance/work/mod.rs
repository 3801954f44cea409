//! What every [`WorkStore`](forbear_core::store::WorkStore) must do.
//!
//! ```
//! use std::sync::Arc;
//!
//! use forbear_core::store::{MemoryWorkStore, WorkStore};
//!
//! async fn store() -> Arc<dyn WorkStore> {
//!     Arc::new(MemoryWorkStore::new())
//! }
//!
//! // One `#[tokio::test]` for each thing that a store must do. It is made anew, and is empty, for each.
//! forbear_mock::work_store_conformance!(store());
//! # fn main() {}
//! ```
//!
//! The crate that calls it needs tokio with the features `macros` and `rt`. [`histories`] alone, with more steps, is for who
//! has more time: it compares a store, after every step of random histories, with a reference that is too simple to be
//! wrong.

mod call;
mod checks;
mod history;
#[cfg(test)]
mod model;
mod reference;

pub use checks::*;
pub use history::histories;

use forbear_core::work::{DemandReason, Key, SourceName, Stamp};

/// One `#[tokio::test]` for each thing that a [`WorkStore`](forbear_core::store::WorkStore) must do; `$store` is an expression that is awaited for an
/// `Arc<dyn WorkStore>`, a new and empty one each time. See [`conformance::work`](crate::conformance::work).
#[macro_export]
macro_rules! work_store_conformance {
    ($store:expr) => {
        $crate::work_store_conformance!($store;
            demands_are_a_set,
            the_last_demand_that_goes_ends_it,
            claims_come_in_due_order,
            a_claim_is_nobody_elses,
            a_stale_claim_changes_nothing,
            a_lease_that_is_over_is_claimed_again,
            a_key_that_ends_its_process_fails,
            a_demand_while_it_runs_is_one_more_run,
            deferrals_cost_no_attempt_and_stall,
            failures_end_in_failed_until_demanded_again,
            sources_are_apart,
            pages_and_tallies_agree,
            times_far_ahead_are_mended,
            every_value_survives,
            batches_of_thousands,
            concurrent_claims_are_apart,
            random_histories,
        );
    };
    ($store:expr; $($check:ident,)*) => {
        $(#[tokio::test]
        async fn $check() {
            let store = $store.await;
            $crate::conformance::work::$check(store).await;
        })*
    };
}

fn source(name: &str) -> SourceName {
    SourceName::new(name).expect("a name")
}

fn key(name: &str) -> Key {
    Key::new(name).expect("a key")
}

fn reason(name: &str) -> DemandReason {
    DemandReason::new(name).expect("a reason")
}

fn keys(names: &[&str]) -> Vec<Key> {
    names.iter().map(|name| key(name)).collect()
}

fn at(seconds: u64) -> Stamp {
    Stamp::from_millis(1_800_000_000_000 + seconds * 1_000)
}
