//! Background work that is due at some time, keyed by (source, key), and gentle to vendors.
//!
//! **The failure it prevents.** A program refreshes ten thousand things from five vendors. One of the vendors says `429`: its
//! jobs fail, are scheduled again one by one, fail again, use up their attempts, and stand at the head of the queue in front
//! of the other four vendors' jobs. When the vendor is well again, all of them come at once. Here the work of a family that
//! cools is not touched at all, that of others goes on, and a `429` costs no attempt.
//!
//! | what happens to a key | then |
//! |---|---|
//! | it is demanded for the first time | it is due now |
//! | it is due, and its family is called | it runs when its turn comes: what was due first, within the [drain](Source::drain) of its family, families by their [weight](RefreshBuilder::weight) |
//! | it is due, and its family cools, or is paused | nothing: it is not claimed, not counted, not scheduled anew |
//! | its answer is good (2xx, 3xx, 404, 409, 422), and is stored | due again after [`every`](Source::every), and some [jitter](Source::jitter) |
//! | it is limited or refused | due again when its family is open, in its old place, or when a limit of its own is over; no attempt is counted. After a [day](Source::stall) of that it has *stalled* |
//! | it fails: any other status, a broken body, a timeout, an error of the `store` callback, a panic | due again after a [wait that doubles](Source::backoff); after [`max_attempts`](Source::max_attempts) it has *failed* |
//! | it failed, or stalled | nothing, until it is [demanded](Refresh::demand) again or [retried](Refresh::retry) by hand |
//! | it is demanded or [invalidated](Refresh::invalidate) while it runs | it runs exactly once more, after the [gap](Source::gap) |
//! | its last demand [goes](Refresh::undemand) | it is forgotten, with its run where one is out |
//! | the process goes while it runs | after its [lease](RefreshBuilder::lease) it runs again; that was an attempt |
//! | the run is shut down, or dropped | it is given back, and no attempt is counted |
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{Families, Family, MemoryWorkStore, Refresh, Source};
//! use http_body_util::Empty;
//! # use forbear_mock::{MockVendor, reply};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mock = MockVendor::in_process().script(reply(200).body("7"));
//! # let client = mock.service();
//! let families = Families::builder().family(Family::new("yahoo").host("query1.finance.yahoo.com")).build()?;
//! let vendor = forbear::stack(&families).service(client);
//! let refresh = Refresh::builder(vendor, MemoryWorkStore::new())
//!     .source(
//!         Source::new("yahoo.quote")
//!             .family("yahoo")
//!             .every(Duration::from_secs(15 * 60))
//!             .drain(3)
//!             .fetch(|key| {
//!                 http::Request::get(format!("https://query1.finance.yahoo.com/v8/finance/chart/{key}"))
//!                     .body(Empty::<bytes::Bytes>::new())
//!             })
//!             .store(|key, response| async move {
//!                 println!("{key}: {:?}", response.body());
//!                 Ok::<_, std::io::Error>(())
//!             }),
//!     )
//!     .build()?;
//! refresh.demand("yahoo.quote", ["AAPL", "MSFT"]).await?;
//!
//! let stopped = tokio::time::sleep(Duration::from_secs(1)); // in a server: whatever tells it to stop
//! refresh.run(stopped).await;
//! assert_eq!(mock.attempts().len(), 2);
//! println!("{}", refresh.health().await); // yahoo.quote  next in 15m12s
//! # Ok(())
//! # }
//! ```
//!
//! What is not HTTP runs through the [gate](crate::run) of its family:
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{Families, Family, MemoryWorkStore, Refresh, Source, Verdict};
//!
//! # async fn read_feed(key: String) -> Result<u32, String> { Ok(7) }
//! let families = Families::builder().family(Family::new("social")).build()?;
//! let refresh = Refresh::over(&families, (), MemoryWorkStore::new())
//!     .source(
//!         Source::new("feed")
//!             .family("social")
//!             .run(|key| read_feed(key.to_string()), |read| match read {
//!                 Ok(_) => Verdict::Good,
//!                 Err(_) => Verdict::Neutral,
//!             })
//!             .store(|key, read| async move {
//!                 println!("{key}: {read:?}");
//!                 Ok::<_, std::io::Error>(())
//!             }),
//!     )
//!     .build()?;
//! # let _ = refresh;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **At least once.** A result is handed to `store`, and after that the work store is told. Between the two a process may go,
//! so `store` may be given a result of the same key again: let it overwrite. **Place in the order.** Requests are sent with
//! [`NoWait`](crate::NoWait) at background priority through a whole stack; the refresh does the waiting. It wakes when a key
//! is due, when a gate says something and when a run ends, and else does nothing. **Cancellation.** A run that is dropped
//! loses nothing, see [`Refresh::run`]. **Memory.** That of the store, and of what is in flight, whose bodies are read whole, up to
//! [`body_limit`](Source::body_limit) each. **Secrets.** Keys, and the words of errors that callbacks return, are stored and
//! shown as they are.

mod builder;
mod claiming;
mod driver;
mod error;
mod handle;
mod health;
mod job;
#[cfg(feature = "metrics")]
mod metrics;
mod plan;
mod run;
mod settle;
mod shared;
mod source;
mod trouble;

pub use builder::{InvalidRefresh, RefreshBuilder};
pub use error::NotTaken;
pub use forbear_core::store::{MemoryWorkStore, StoreError, StoreFault, WorkStore};
pub use forbear_core::work;
pub use handle::Refresh;
pub use health::{PausedFamily, RefreshHealth, SourceHealth};
pub use job::SourceOf;
#[cfg(feature = "metrics")]
pub use metrics::RefreshMetrics;
pub use source::{Fetching, GateSource, HttpSource, Running, Source};
