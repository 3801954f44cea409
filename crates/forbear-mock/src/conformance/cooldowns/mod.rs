//! What every [`CooldownStore`](forbear_core::store::CooldownStore) must do.
//!
//! ```
//! use std::sync::Arc;
//!
//! use forbear_core::store::{CooldownStore, MemoryCooldowns};
//!
//! async fn store() -> Arc<dyn CooldownStore> {
//!     Arc::new(MemoryCooldowns::new())
//! }
//!
//! // One `#[tokio::test]` for each thing that a store must do. It is made anew, and is empty, for each.
//! forbear_mock::cooldown_store_conformance!(store());
//! # fn main() {}
//! ```
//!
//! The crate that calls it needs tokio with the features `macros` and `rt`. A store that has a clock of its own does not pass
//! what is said of `now`; it has no macro yet.

mod checks;
mod entries;
mod random;

pub use checks::*;
pub use random::random_histories;

/// One `#[tokio::test]` for each thing that a [`CooldownStore`](forbear_core::store::CooldownStore) must do; `$store` is an
/// expression that is awaited for an `Arc<dyn CooldownStore>`, a new and empty one each time. See
/// [`conformance::cooldowns`](crate::conformance::cooldowns).
#[macro_export]
macro_rules! cooldown_store_conformance {
    ($store:expr) => {
        $crate::cooldown_store_conformance!($store;
            every_value_survives,
            only_time_that_remains_travels,
            a_newer_generation_replaces_an_older_one,
            an_older_generation_moves_the_deadline_and_nothing_else,
            an_older_generation_closes_nothing,
            a_higher_epoch_replaces_the_whole,
            within_a_generation_the_later_deadline_stands,
            parts_and_hosts_are_apart,
            a_pause_is_kept_by_who_did_not_end_it,
            what_says_nothing_is_forgotten,
            quiet_time_is_told,
            what_no_clock_can_have_meant_is_clamped,
            twice_is_as_good_as_once,
            batches_of_thousands,
            a_look_finds_what_is_there,
            concurrent_saves_lose_nothing,
            random_histories,
        );
    };
    ($store:expr; $($check:ident,)*) => {
        $(#[tokio::test]
        async fn $check() {
            let store = $store.await;
            $crate::conformance::cooldowns::$check(store).await;
        })*
    };
}
