//! Responses that outlive a process.

mod clock;
mod fields;
mod key;
mod memory;
mod stored;

use std::fmt;
use std::sync::Arc;

use crate::work::Stamp;

use super::StoreFuture;

pub use clock::StoreClock;
pub use fields::{fields_from_bytes, fields_to_bytes};
pub use key::{KeyedHash, ResponseKey, ResponseSecret};
pub use memory::MemoryResponses;
pub use stored::{FoundResponses, KeptResponses, PurgeResponses, StoredResponse};

/// Keeps responses for the next process, and for what does not fit into memory.
///
/// It lies behind a cache in memory: what is asked of it is what that does not have, and what changed there is written in the
/// background. So it may take its time, and whatever it does not keep is fetched anew; but what it [removed](Self::remove) must not come
/// back. Whether a response may be served is not decided here.
///
/// **Time.** Only ages travel, no clocks. `now` is the wall clock of who asks. A store keeps when a response was received by a clock of its own
/// that never goes back, such as [`StoreClock`]: a wall clock that is set back makes nothing younger. A row that is from the future even so is dropped.
///
/// **Bounds.** At most so many bytes as it was made for, counted as [`StoredResponse::bytes`]; what was used least lately leaves. Used is what was
/// put or found. At most [`ResponseKey::VARIANTS`] under one key, of more the oldest leaves.
///
/// `forbear-mock` has a suite that says whether a store does all that is asked here (its feature `conformance`).
///
/// **Cancellation.** A future that is dropped may have done all that was asked for, or nothing. It must not block the thread that polls it.
pub trait ResponseStore: fmt::Debug + Send + Sync + 'static {
    /// What it is called in events and metrics, such as `sqlite`.
    fn name(&self) -> &str;

    /// What keys are hashed with. It is the same as long as the store keeps what it holds, and it is kept as secret as that.
    fn secret(&self) -> ResponseSecret;

    /// All responses under a key, the youngest first.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses>;

    /// Keeps these, each in the place of that with the same key and variant. One that is larger than the whole store is not kept, nor is what it takes the
    /// place of.
    ///
    /// # Errors
    /// Where nobody knows what is kept. It may be given again: twice is as good as once.
    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()>;

    /// Forgets all responses under these keys. It is durable once it answers.
    ///
    /// # Errors
    /// Where some may be there still.
    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()>;

    /// Forgets many. How many there were.
    ///
    /// # Errors
    /// Where some may be there still.
    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64>;

    /// How much it holds.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn kept(&self) -> StoreFuture<'_, KeptResponses>;
}

impl<S: ResponseStore + ?Sized> ResponseStore for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn secret(&self) -> ResponseSecret {
        (**self).secret()
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses> {
        (**self).find(key, now)
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        (**self).put(responses, now)
    }

    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()> {
        (**self).remove(keys)
    }

    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64> {
        (**self).purge(what)
    }

    fn kept(&self) -> StoreFuture<'_, KeptResponses> {
        (**self).kept()
    }
}
