//! One budget for all that a logical request costs.
//!
//! **The failure it prevents.** Where the wait for a vendor sits outside the timeout, every attempt arms a new one:
//! a `429` with `Retry-After: 300` costs fifteen minutes inside one call although the timeout says 30 s. Here one
//! absolute deadline is fixed when the logical request enters, and everything below spends from it.
//!
//! | situation | what happens |
//! |---|---|
//! | everything ends in time | the answer passes through; no timer was needed unless something was pending |
//! | a wait would end at or after the deadline | it is not begun: the vendor's answer, or the refusal, returns at once |
//! | the deadline comes while an attempt is in flight | the attempt is dropped: [`BudgetExhausted`](crate::BudgetExhausted) |
//! | the same, with [`BudgetLayer::grace`] | the attempt may finish within the grace; nothing new begins |
//! | no attempt is left, and the last one was limited | its answer returns at once |
//! | an attempt begins although none is left, as after a redirect | [`BudgetExhausted`](crate::BudgetExhausted); it is not sent |
//! | one budget inside another | the earlier deadline stands, and attempts count for both |
//!
//! **Place in the order.** Outside [`RetryAfterLayer`](crate::RetryAfterLayer), so that no wait can outlast it; inside
//! a stale cache. The budget covers pacing, waiting and attempts. The time it takes to become ready before the call,
//! and to read the response's body after it, is the caller's.
//!
//! ```
//! # use std::time::Duration;
//! use forbear::BudgetLayer;
//! use tower::{ServiceBuilder, service_fn};
//! # async fn client(_: http::Request<()>) -> Result<http::Response<()>, std::io::Error> { Ok(http::Response::new(())) }
//!
//! let vendor = ServiceBuilder::new().layer(BudgetLayer::new(Duration::from_secs(30))).service(service_fn(client));
//! # let _ = vendor;
//! ```
//!
//! With at most four attempts, and two seconds for the one in flight to finish:
//!
//! ```
//! # use std::time::Duration;
//! # use std::num::NonZeroU32;
//! use forbear::BudgetLayer;
//!
//! let four = NonZeroU32::new(4).ok_or("not zero")?;
//! let layer = BudgetLayer::new(Duration::from_secs(30)).attempts(four).grace(Duration::from_secs(2));
//! # let _ = layer;
//! # Ok::<(), &str>(())
//! ```
//!
//! **The scope.** While the future is polled its budget is in scope, as with `tokio::task_local!`: an inbound budget
//! bounds a handler's outbound calls with nothing to copy, see [`Budget::current`]. Spawned tasks are outside;
//! [`BudgetLayer::across_tasks`] inserts a request extension for services that spawn.
//!
//! **Cancellation.** Dropping the future drops what it runs; nothing is held. **Memory.** No allocation; a timer in
//! the future itself, armed at the first pending poll.

pub(crate) mod attempt;
mod extension;
#[cfg(feature = "budget")]
mod future;
#[cfg(feature = "budget")]
mod layer;
pub(crate) mod scope;
#[cfg(feature = "budget")]
mod service;

pub use extension::Budget;
#[cfg(any(
    feature = "retry-after",
    feature = "pacing",
    feature = "cooldown",
    feature = "axum",
    feature = "stale"
))]
pub(crate) use extension::effective;
#[cfg(any(feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub(crate) use extension::out_of_attempts;
#[cfg(feature = "budget")]
pub use future::BudgetFuture;
#[cfg(feature = "budget")]
pub use layer::BudgetLayer;
#[cfg(feature = "budget")]
pub use service::BudgetService;
