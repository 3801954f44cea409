//! Tower middleware for **outbound** HTTP that keeps to what vendors say about their limits.
//!
//! It reads what a vendor says, waits exactly as long as it was told and no longer than the caller can afford, stops
//! calling a vendor that has had enough, and shows why. Three failures it prevents:
//!
//! - *The self-imposed outage.* A vendor says `Retry-After: 5` and its client stays away for minutes, long after the
//!   vendor is well. Here the advertised delay is authoritative, and what repeated refusals add comes down again.
//! - *The stampede.* One route is throttled, every other route of the vendor goes on calling, and all waiters are let
//!   loose at once. Here one `429` cools the whole family; one probe goes out, then calls at a pace.
//! - *The fifteen-minute call.* Each attempt waits a full `Retry-After`, whatever the call's timeout says. Here one
//!   budget bounds the logical request, and a wait that does not fit it is not begun.
//!
//! # Quick start
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use forbear::{Error, Families, Family};
//! use http_body_util::Empty;
//! use hyper_util::{client::legacy::Client, rt::TokioExecutor};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! // Two hosts that share a limit are one family. A host that nobody named gets a family of its own.
//! let families = Families::builder()
//!     .family(Family::new("quotes").host("query1.example.com").host("query2.example.com"))
//!     .build()?;
//! let client = Client::builder(TokioExecutor::new()).build_http();
//! let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).service(client);
//!
//! let request = http::Request::get("http://query1.example.com/v8/chart").body(Empty::<Bytes>::new())?;
//! match vendor.send(request).await {
//!     Ok(response) => println!("{}", response.status()),
//!     Err(Error::Cooling(c)) => println!("{} is cooling for {:?}: {}", c.family(), c.retry_in(), c.reason()),
//!     Err(Error::BudgetExhausted(b)) => println!("{} attempts in {:?}", b.attempts(), b.spent()),
//!     Err(other) => return Err(other.into()),
//! }
//! println!("{}", families.health()); // quotes  cooling 3m58s  429 inflight_limit  via /v8/chart
//! # Ok(())
//! # }
//! ```
//!
//! # The order
//!
//! ```text
//!  caller
//!    │
//!    ▼  BudgetLayer           the clock of the logical request starts; all below spends from it
//!    ▼  RetryAfterLayer       the only place that waits for a vendor: as told, then sends again, within the budget
//!    ▼  PacingLayer           each attempt: spaced, first come first served
//!    ▼  FamilyCooldownLayer   the gate, last before the wire: may this family be called now? what did it answer?
//!    ▼
//!  client                     hyper-util, reqwest, tonic, or any Service<http::Request<_>>
//! ```
//!
//! | layer | module | alone it |
//! |---|---|---|
//! | [`BudgetLayer`] | [`budget`] | ends a logical request at its deadline |
//! | [`RetryAfterLayer`] | [`retry_after`] | waits as each URL's vendor asks, at most 60 s per logical request |
//! | [`PacingLayer`] | [`pacing`] | lets attempts go when the limits of their family allow it, where it has any |
//! | [`FamilyCooldownLayer`] | [`cooldown`] | refuses while a family cools, and waits for nothing |
//!
//! [`stack`] puts them in this order. By hand, with what each can be told:
//!
//! ```
//! use std::time::Duration;
//!
//! use forbear::{BudgetLayer, Families, FamilyCooldownLayer, PacingLayer, RetryAfterLayer, Unknown};
//! use forbear_mock::{MockVendor, reply};
//! use http_body_util::Empty;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let mock = MockVendor::in_process().script([reply(429).retry_after(5), reply(200)]);
//! let families = Families::builder().unknown(Unknown::PerHost).build()?;
//! let vendor = ServiceBuilder::new()
//!     .layer(BudgetLayer::new(Duration::from_secs(30)).grace(Duration::from_secs(2)))
//!     .layer(RetryAfterLayer::new().replay_limit(1 << 20))
//!     .layer(PacingLayer::new(families.clone()))
//!     .layer(FamilyCooldownLayer::new(families.clone()))
//!     .service(mock.service());
//!
//! let request = http::Request::get(mock.url("/orders")).body(Empty::<bytes::Bytes>::new())?;
//! assert_eq!(vendor.oneshot(request).await?.status(), 200);
//! mock.assert_attempts(2);
//! mock.assert_gap_at_least(Duration::from_secs(5));
//! # Ok(())
//! # }
//! ```
//!
//! The client is called with `Request<`[`Replay`]`<B>>`, so that a body can be sent again, and answers
//! reach the caller with a [`Paced`] [`Peeked`] body. All are [`http_body::Body`](https://docs.rs/http-body/1/http_body/trait.Body.html)s; a client that is generic in its
//! body, as hyper-util's is, needs nothing: its body type is inferred, or written as `Replay<B>` where a struct must name
//! it, see [`Vendor`]. A layer around one that it belongs inside of is reported once with `tracing::error!`, with the fix.
//!
//! What is not HTTP (a command, a vendor's SDK, a WebSocket) goes through the same gate with [`Families::gate`], see
//! [`run`].
//!
//! # Extensions
//!
//! | type | on | says |
//! |---|---|---|
//! | [`Budget`] | request | a deadline of its own; the earliest of all wins |
//! | [`NoWait`] | request | never park this one: a limited answer or a refusal returns at once |
//! | [`FamilyName`] | request | its family, instead of matching its host |
//! | [`Partition`] | request | whose limit it counts against, such as one credential, where its family is [per partition](Family::per_partition) |
//! | [`Priority`] | request | `Background` is served after `Interactive` while a family probes or recovers, or is paced |
//! | [`NoQueue`] | request | never queue this one to be paced: refused where it would have to |
//! | [`Cost`] | request | what it costs, in the unit that its family's [`Pacing`] counts |
//! | [`Caller`] | request | who asks: callers that name themselves take turns where attempts are queued |
//! | [`EffectiveUri`] | response, by the client | the URL that answered, where the client follows redirects itself |
//! | [`Signal`] | response, by forbear | what the vendor said, and when its family is called again |
//!
//! # Errors
//!
//! | [`Error`] | sent? | it tells |
//! |---|---|---|
//! | [`Cooling`] | no | family, reason, route, and when to come back |
//! | [`Pacing`](Error::Pacing) | no | family, reason, and when it could go; never waited for by a layer |
//! | [`BudgetExhausted`] | where `attempts()` is above 0 | which part is spent, time, attempts, and the last signal with its full hint |
//! | [`UnknownFamily`] | no | the URL or name that no family has |
//! | [`NotStored`] | no | what is to be answered from what is stored alone, and is not; of whom it was demanded |
//! | [`Client`](Error::Client) | perhaps | the client's own error, as `source` |
//!
//! A limited response whose wait does not fit is not an error: it is returned as the vendor sent it, with a [`Signal`].
//! [`error`] shows a server that turns all of these into answers of its own; the feature `server` has layers for it, the module
//! `refusal`, and for a budget from what a server's own caller waits, the module `inbound`.
//!
//! # Features
//!
//! | feature | default | gives |
//! |---|---|---|
//! | `budget` | yes | [`BudgetLayer`] |
//! | `retry-after` | yes | [`retry_after`] |
//! | `pacing` | yes | [`pacing`] |
//! | `cooldown` | yes | [`cooldown`] |
//! | `decompression` | yes | reads the reason in a limited answer that is coded with gzip, deflate, br or zstd; without it such a body is left unread, and what only it says is missed in silence |
//! | `metrics` | no | counters and gauges through the `metrics` facade, see `Families::metrics` |
//! | `server` | no | for servers that call vendors: `InboundBudgetLayer`, and `RefusalResponseLayer` which answers their callers |
//! | `axum` | no | the same in axum's types: `forbear::Error` as a response, an extractor |
//! | `reqwest` | no | `stack(..).reqwest(client)`, and the adapter `Reqwest` alone |
//! | `reqwest-middleware` | no | `ForbearMiddleware`, a stack for reqwest-middleware; turns on `reqwest` and the three layers |
//! | `tonic` | no | `stack(..).tonic(channel)`, for generated clients |
//! | `refresh` | no | `Refresh`: background work that is due at some time, and skipped while its family cools |
//! | `stale` | no | `StaleLayer`: a stored answer where the vendor gives none; one attempt for all who ask for the same |
//! | `sweep` | no | `Sweep`: many items over one service, each done, deferred or failed; turns on `retry-after` and `cooldown` |
//! | `tower-http` | no | reads the effective URL that tower-http's `FollowRedirect` leaves in a response |
//!
//! [`stack`], [`Vendor`] and [`Families::gate`] exist where `budget`, `retry-after`, `pacing` and `cooldown` are on.

// Pages say which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What one layer does not use another does; with all layers on nothing may be unused.
#![cfg_attr(
    not(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown")),
    allow(dead_code, unused_imports)
)]

pub mod budget;
#[cfg(feature = "cooldown")]
pub mod cooldown;
#[cfg(feature = "pacing")]
pub mod pacing;
#[cfg(feature = "retry-after")]
pub mod retry_after;

#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub mod run;

#[cfg(feature = "sweep")]
pub mod sweep;

#[cfg(feature = "axum")]
pub mod axum;
#[cfg(feature = "server")]
pub mod inbound;
#[cfg(feature = "server")]
pub mod refusal;

#[cfg(any(feature = "retry-after", feature = "cooldown"))]
mod beneath;
pub mod body;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
mod boxed;
mod clock;
pub mod error;
mod events;
mod extensions;
mod families;
#[cfg(any(feature = "server", feature = "tonic"))]
mod grpc_timeout;
#[cfg(any(feature = "retry-after", feature = "pacing", feature = "cooldown", feature = "stale"))]
mod host;
mod keeper;
mod order;
#[cfg(feature = "stale")]
mod parking;
#[cfg(feature = "refresh")]
pub mod refresh;
#[cfg(feature = "reqwest")]
pub mod reqwest;
#[cfg(feature = "reqwest-middleware")]
pub mod reqwest_middleware;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
mod stack;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
mod vendor;
#[cfg(feature = "retry-after")]
mod waiting;
#[cfg(any(feature = "pacing", feature = "cooldown"))]
mod whose;

#[cfg(feature = "stale")]
pub mod stale;

#[cfg(feature = "tonic")]
pub mod tonic;

pub use body::{BoxError, Peeked, Replay};
pub use error::{BudgetExhausted, Cooling, Error, NotStored, PacingRefused, Spent, UnknownFamily};
pub use extensions::{Cost, EffectiveUri, NoQueue, NoWait, Signal};
#[cfg(feature = "metrics")]
pub use families::Metrics;
pub use families::{Changes, Families, FamiliesBuilder, Strike};
pub use forbear_core::dialect::{self, Dialect, InvalidDialect};
pub use forbear_core::families::{Family, FamilyName, InvalidFamilies, Unknown};
pub use forbear_core::gate::{GateSettings, Ladder, Operator, Priority, RefusalCause};
pub use forbear_core::health::{
    FamilyHealth, Health, HealthPhase, LastSignal, OperatorHealth, PacingHealth, StoreHealth, StoreState,
};
pub use forbear_core::pacing::{Caller, Pacing, PacingCause, RetryQuota};
pub use forbear_core::partition::Partition;
pub use forbear_core::presets;
pub use forbear_core::signal;
pub use forbear_core::signal::{Class, Delay, Evidence, Reason, Scope};
pub use forbear_core::store::{CooldownStore, MemoryCooldowns, StoreError, StoreFault};
pub use forbear_core::url::RedactedUrl;

#[cfg(feature = "reqwest")]
pub use crate::reqwest::Reqwest;
#[cfg(feature = "reqwest-middleware")]
pub use crate::reqwest_middleware::ForbearMiddleware;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub use boxed::BoxVendor;
pub use budget::Budget;
#[cfg(feature = "budget")]
pub use budget::{BudgetLayer, BudgetService};
#[cfg(feature = "cooldown")]
pub use cooldown::{FamilyCooldownLayer, FamilyCooldownService};
#[cfg(feature = "server")]
pub use inbound::{InboundBudgetLayer, InboundBudgetService};
#[cfg(feature = "pacing")]
pub use pacing::{Paced, PacingLayer, PacingService};
#[cfg(feature = "refresh")]
pub use refresh::{InvalidRefresh, MemoryWorkStore, Refresh, Source};
#[cfg(feature = "server")]
pub use refusal::{Refusal, RefusalResponseLayer, RefusalResponseService};
#[cfg(feature = "retry-after")]
pub use retry_after::{RetryAfterLayer, RetryAfterService};
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub use run::{FamilyGate, Verdict};
#[cfg(all(
    feature = "stale",
    feature = "budget",
    feature = "retry-after",
    feature = "pacing",
    feature = "cooldown"
))]
pub use stack::StaleStack;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub use stack::{Stack, Stacked, stack};
#[cfg(feature = "stale")]
pub use stale::{StaleLayer, StaleService};
#[cfg(feature = "sweep")]
pub use sweep::Sweep;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub use vendor::Vendor;

/// The README's examples compile.
#[cfg(doctest)]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", env!("CARGO_PKG_README")))]
struct Readme;
