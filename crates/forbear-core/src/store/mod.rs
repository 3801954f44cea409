//! What outlives the process, or is shared: the traits of stores, and stores in memory.
//!
//! A store is never on the way of a call. What it keeps is decided elsewhere, by pure functions that every store applies
//! in the same way: refresh work by [`work`](crate::work), cool-downs by [`CooldownRecord`].
//!
//! | store | keeps | in memory |
//! |---|---|---|
//! | [`CooldownStore`] | where families stand, for the next process and for others | [`MemoryCooldowns`] |
//! | [`WorkStore`] | refresh work: who wants which key, when it is due, who runs it | [`MemoryWorkStore`] |
//! | [`ResponseStore`] | responses, for the next process and for what memory has no room for | [`MemoryResponses`] |

mod cooldowns;
mod error;
mod memory;
mod responses;
mod shared;
mod work;

pub use cooldowns::{
    Absorbed, CooldownEntry, CooldownKey, CooldownRecord, CooldownStore, Loaded, MemoryCooldowns, Part,
    Pause, struck_from_json, struck_to_json,
};
pub use error::{StoreError, StoreFault};
pub use memory::MemoryWorkStore;
pub use responses::{
    FoundResponses, KeptResponses, KeyedHash, MemoryResponses, PurgeResponses, ResponseKey, ResponseSecret,
    ResponseStore, StoreClock, StoredResponse, fields_from_bytes, fields_to_bytes,
};
pub use work::{Claims, Finish, Held, Kept, Rows, WorkStore};

use std::future::Future;
use std::pin::Pin;

/// What a store answers, some time. Boxed, so that a program can choose its store when it runs.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;
