//! The only place that waits for a vendor.
//!
//! **The failure it prevents.** A retry that does not know `Retry-After` comes back too early and is refused again, or
//! too late; one that sleeps without knowing its caller's deadline sleeps through it. Here the advertised delay is
//! authoritative, and a wait that does not fit the budget is never begun.
//!
//! | what came back | what happens |
//! |---|---|
//! | no signal | it is returned |
//! | a signal whose wait fits | it is let go, waited out, and the request sent again |
//! | a signal whose wait does not fit | it is returned at once, with its full hint |
//! | `Exhausted`, `Blocked`, do-not-retry | it is returned: never waited for, never sent again |
//! | other than 429, and the request is not safe to repeat | it is returned |
//! | the request [declares its caller's attempt](forbear_core::retry::declares_attempt), as SDKs do: `forbear-attempt`, `x-stainless-retry-count`, `amz-sdk-request`, `gccl-attempt-count` in `x-goog-api-client`, `grpc-previous-rpc-attempts` | its limited answer is returned: who counts attempts sends again |
//! | a body that cannot be replayed | it was sent once, untouched; its limited answer is returned |
//! | a refusal of the gate | waited out if that fits, woken early by a good verdict; else [`Cooling`](crate::Cooling) |
//! | a refusal of pacing | it is returned: the attempt waited there for as long as it may |
//! | a signal, and the [`RetryQuota`](crate::RetryQuota) of its family is used up | it is returned |
//! | a [shutdown](crate::Families::shutdown) of the families below | every wait ends with a refusal; limited answers are returned |
//! | an error | it is returned: ordinary faults are `tower::retry`'s job |
//!
//! The wait is the longest of the hint, a floor of its own (250 ms, doubling to 8 s per logical request) and the
//! family's deadline, plus jitter of at most a tenth and 1 s. It counts from the answer, is decided before the answer
//! is let go, and holds nothing: the answer's body is drained (64 KiB, 250 ms) or dropped first. Without a budget all
//! waits of a logical request together take at most 60 s. A request with the [`NoWait`](crate::NoWait) extension is
//! never parked.
//!
//! A `429` says that the request was not carried out, so every method is sent again; after other signals only
//! idempotent methods (RFC 9110 section 9.2.2) and requests with an `Idempotency-Key` are.
//!
//! Deadlines are also recorded by URL (scheme, host, path; of the URL that answered, after redirects): a later logical
//! request honours them, even without [`FamilyCooldownLayer`](crate::FamilyCooldownLayer) below.
//! A URL is left alone for at most its family's `max_advertised`, or 24 h where it has no family; the request that met the
//! answer is told the full hint.
//!
//! **Place in the order.** Inside [`BudgetLayer`](crate::BudgetLayer), outside
//! [`FamilyCooldownLayer`](crate::FamilyCooldownLayer).
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{BudgetLayer, RetryAfterLayer, body::Replay};
//! use tower::{ServiceBuilder, service_fn};
//! # type Body = http_body_util::Empty<bytes::Bytes>;
//! # async fn client(_: http::Request<Replay<Body>>) -> Result<http::Response<Body>, std::io::Error> { Ok(http::Response::default()) }
//!
//! let vendor = ServiceBuilder::new()
//!     .layer(BudgetLayer::new(Duration::from_secs(30)))
//!     .layer(RetryAfterLayer::new())
//!     .service(service_fn(client));
//! # let _ = vendor;
//! ```
//!
//! Larger uploads kept for sending again, and fewer URLs remembered:
//!
//! ```
//! use forbear::RetryAfterLayer;
//!
//! let layer = RetryAfterLayer::new().replay_limit(1 << 20).max_recorded(10_000);
//! # let _ = layer;
//! ```
//!
//! **Cancellation.** Dropping the future at any point gives its place in the queue, and a probe it was granted, to the
//! next caller. **Memory.** Per call a copy of the request's head; of its body only what was sent, at most 64 KiB. Per
//! recorded URL about 36 bytes, for at most a million; and of 10,000 of them the family that a refusal names.

mod future;
mod layer;
mod logical;
mod saved;
mod service;
mod target;

pub use future::RetryAfterFuture;
pub use layer::RetryAfterLayer;
#[cfg(feature = "sweep")]
pub(crate) use logical::{Limited, said};
pub use service::RetryAfterService;
