//! What every [`ResponseStore`] must do.
//!
//! ```
//! use std::sync::Arc;
//!
//! use forbear_core::store::{MemoryResponses, ResponseStore};
//! use forbear_mock::conformance::responses::BYTES;
//!
//! async fn store() -> Arc<dyn ResponseStore> {
//!     Arc::new(MemoryResponses::new(BYTES))
//! }
//!
//! // One `#[tokio::test]` for each thing that a store must do. It is made anew, and is empty, for each.
//! forbear_mock::response_store_conformance!(store());
//! # fn main() {}
//! ```
//!
//! The crate that calls it needs tokio with the features `macros` and `rt`.

mod checks;
mod random;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forbear_core::store::{FoundResponses, ResponseKey, ResponseStore, StoredResponse};
use forbear_core::work::Stamp;
use http::{HeaderMap, HeaderValue, StatusCode};

pub use checks::*;
pub use random::random_histories;

/// The store that is checked has room for so many bytes, 1 MiB.
pub const BYTES: u64 = 1 << 20;

/// One `#[tokio::test]` for each thing that a [`ResponseStore`](forbear_core::store::ResponseStore) must do; `$store` is an
/// expression that is awaited for an `Arc<dyn ResponseStore>`, a new and empty one with room for
/// [`BYTES`](crate::conformance::responses::BYTES) each time. See [`conformance::responses`](crate::conformance::responses).
#[macro_export]
macro_rules! response_store_conformance {
    ($store:expr) => {
        $crate::response_store_conformance!($store;
            every_value_survives,
            ages_go_on,
            a_clock_that_is_set_back_makes_nothing_younger,
            a_response_takes_the_place_of_its_variant,
            the_youngest_comes_first,
            of_too_many_variants_the_oldest_leaves,
            keys_are_apart,
            what_is_removed_is_gone,
            a_purge_takes_a_host_a_family_or_all,
            what_was_used_least_lately_leaves,
            what_is_too_large_is_not_kept_nor_what_it_replaces,
            it_is_bounded_by_bytes,
            twice_is_as_good_as_once,
            concurrent_puts_lose_nothing,
            random_histories,
        );
    };
    ($store:expr; $($check:ident,)*) => {
        $(#[tokio::test]
        async fn $check() {
            let store = $store.await;
            $crate::conformance::responses::$check(store).await;
        })*
    };
}

type Store = Arc<dyn ResponseStore>;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: u64 = 3_600;

fn at(seconds: u64) -> Stamp {
    Stamp::from_millis(1_800_000_000_000 + seconds * 1_000)
}

fn key(what: u128) -> ResponseKey {
    ResponseKey { what, whose: 0 }
}

/// A response that was received this moment.
fn response(key: ResponseKey, body: &str) -> StoredResponse {
    StoredResponse {
        key,
        variant: 0,
        host: "vendor.test".into(),
        family: None,
        status: StatusCode::OK,
        fields: HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("\"v\""))]),
        body: Bytes::copy_from_slice(body.as_bytes()),
        age: Duration::ZERO,
    }
}

fn variant(key: ResponseKey, variant: u128, body: &str) -> StoredResponse {
    StoredResponse { variant, ..response(key, body) }
}

/// One that counts for so many bytes.
fn large(key: ResponseKey, bytes: u64) -> StoredResponse {
    let rest = response(key, "").bytes();
    let body = usize::try_from(bytes.saturating_sub(rest)).unwrap_or_default();
    response(key, &"x".repeat(body))
}

async fn put(store: &Store, responses: Vec<StoredResponse>, now: Stamp) {
    store.put(responses, now).await.expect("it is kept");
}

async fn find(store: &Store, key: ResponseKey, now: Stamp) -> Vec<StoredResponse> {
    let FoundResponses { responses, dropped } = store.find(key, now).await.expect("it looks");
    assert_eq!(dropped, 0);
    responses
}

async fn bodies(store: &Store, key: ResponseKey, now: Stamp) -> Vec<String> {
    let text = |found: &StoredResponse| String::from_utf8_lossy(&found.body).into_owned();
    find(store, key, now).await.iter().map(text).collect()
}
