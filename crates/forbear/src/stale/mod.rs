//! A good old answer beats an empty one.
//!
//! **The failure it prevents.** A vendor limits a program, and every panel of its users goes empty, although yesterday's answer
//! would have done; or a thousand users ask for the same at once, and the vendor is asked a thousand times.
//!
//! | what there is | what happens |
//! |---|---|
//! | a fresh answer (RFC 9111) | it is served: [`Served::Fresh`] |
//! | a stale one, within `stale-while-revalidate` | it is served; one attempt in the background fetches a new one |
//! | a stale one, and the vendor answers well | the new answer is served and stored; a `304` confirms what is stored |
//! | a stale one, and the family cools, a signal or a fault comes, the budget ends, pacing or the client fails | the stale one is served, up to [`StalePolicy::max_stale`]: [`Served::Stale`] |
//! | a stale one, and the vendor is [slow](StalePolicy::patience) | the stale one is served, the attempt goes on in the background |
//! | nothing, and somebody asks for it already | everybody waits for that one attempt, each by its own budget |
//! | nothing, and no good answer is to be had | the [fallback](StalePolicy::fallback), then the vendor's own answer or the refusal, the same for all who waited for it |
//!
//! How long is said [family by family](crate::Family::stale), and [for all others](StaleLayer::policy).
//!
//! With a usable answer in hand nobody waits for a cool-down ([`NoWait`](crate::NoWait)).
//!
//! With the feature `refresh` a [`Refresh`](crate::Refresh) can [fill](StaleService::filling) what is stored, and requests be answered
//! [from that alone](StaleService::demanding).
//!
//! **What is never stored**: answers to other methods than GET, with `no-store` (but see [`StalePolicy::store_no_store`]), with `Vary: *`, of a part of a
//! resource, signals, faults of the vendor, and what is larger than [`StaleLayer::max_entry`]. Nothing is served across credentials
//! (`Authorization`, `Proxy-Authorization`, `Cookie`, `X-Api-Key` and its like, [`Partition`](crate::Partition)), hosts, schemes, or what `Vary` names.
//!
//! **Place in the order.** The outermost, around [`BudgetLayer`](crate::BudgetLayer): what is served from memory spends no budget.
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{StaleLayer, stale::StalePolicy};
//! use tower::{ServiceBuilder, service_fn};
//! # type Body = http_body_util::Empty<bytes::Bytes>;
//! # async fn client(_: http::Request<Body>) -> Result<http::Response<Body>, std::io::Error> { Ok(http::Response::default()) }
//!
//! let stale = StaleLayer::memory(64 << 20).policy(StalePolicy::new().max_stale(Duration::from_secs(6 * 3600)));
//! let vendor = ServiceBuilder::new().layer(stale).service(service_fn(client));
//! # let _ = vendor;
//! ```
//!
//! **The next process** has what is stored where there is a [store](StaleLayer::store) behind memory.
//!
//! **Cancellation.** An attempt is a task of its own. Whoever began it may go: it is given up once nobody waits for it. **Memory.** Bounded by
//! bytes; answers on their way into it take at most [`StaleLayer::max_entry`] each, and together as much as may be kept and one more. One of more than 64 KiB that finds no room is passed on as
//! it comes, and not stored.

mod ask;
mod body;
mod confirm;
mod decide;
#[cfg(feature = "refresh")]
mod demand;
mod directives;
mod durable;
mod entry;
mod fetch;
mod fields;
mod fill;
mod flight;
mod future;
mod headers;
mod inner;
mod key;
mod layer;
mod manner;
mod memory;
mod oneshot;
mod outdates;
mod plain;
mod policy;
mod room;
mod serve;
mod service;
mod shared;
mod store;
mod tee;
mod wall;
mod worse;

pub use body::StaleBody;
#[cfg(feature = "refresh")]
pub use demand::DemandService;
pub use fill::FillService;
pub use forbear_core::stale::{Because, Fallback, Served, StalePolicy};
pub use forbear_core::store::PurgeResponses;
pub use future::StaleFuture;
pub use layer::StaleLayer;
pub use service::StaleService;
