//! Spacing of attempts, before any signal arrives.
//!
//! **The failure it prevents.** A vendor publishes "100 requests a minute"; a job of 5,000 requests sends what it can, earns a
//! `429` after the first hundred, and from then on lives from one cool-down to the next. Here every attempt takes its turn, and
//! the `429` never comes.
//!
//! | an attempt | what happens |
//! |---|---|
//! | its family is not [paced](crate::Family::pacing) | it goes on: a look for its family, and none where no family is paced |
//! | the limits allow it, and nobody waits | it goes on: one short lock |
//! | it has to wait, and its turn comes before its deadline | it takes its place in the queue, and goes when its turn comes |
//! | it has to wait, and does not ([`NoQueue`](crate::NoQueue)), or too many do, or its turn comes too late | [`Error::Pacing`](crate::Error::Pacing), at once |
//! | its family cools or is paused, or begins to while it waits | the gate's refusal, [`Error::Cooling`](crate::Error::Cooling), as the gate itself would give it |
//! | its family recovers | it takes its turn here, and then the gate's: the slower of both paces holds |
//! | a layer below refuses it, or it is dropped before it is sent | it costs no quota |
//! | it is a further attempt, and the [`RetryQuota`](crate::RetryQuota) is used up | [`Error::Pacing`](crate::Error::Pacing) |
//! | it waits, and the process [shuts down](crate::Families::shutdown) | [`Error::Pacing`](crate::Error::Pacing) |
//! | in shadow mode | it is sent; who would have waited or been refused is counted |
//!
//! A wait ends with the budget; without one it takes at most 60 s. An attempt is counted when it is called, or when its turn
//! comes, and is in flight until the body of its response, a [`Paced`], has ended or is dropped: drop what you do not read.
//! Order: interactive before background, which keeps its share; within these, [callers](crate::Caller) that name themselves take
//! turns; and each of them first come, first served. [`RetryAfterLayer`](crate::RetryAfterLayer) does not wait for a refusal of
//! pacing: the attempt has waited here for as long as it may.
//!
//! **Place in the order.** Inside [`RetryAfterLayer`](crate::RetryAfterLayer), so that what is sent again is paced too; outside
//! [`FamilyCooldownLayer`](crate::FamilyCooldownLayer), so that what queued is asked again before it is sent.
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{Families, Family, Pacing, PacingLayer};
//! use tower::{ServiceBuilder, service_fn};
//! # type Body = http_body_util::Empty<bytes::Bytes>;
//! # async fn client(_: http::Request<Body>) -> Result<http::Response<Body>, std::io::Error> { Ok(http::Response::default()) }
//!
//! let pacing = Pacing::new().at_most(100, Duration::from_secs(60)).in_flight(8).margin(Duration::from_millis(30));
//! let families = Families::builder().family(Family::new("mail").host("api.mail.example").pacing(pacing)).build()?;
//! let vendor = ServiceBuilder::new().layer(PacingLayer::new(families.clone())).service(service_fn(client));
//! # let _ = vendor;
//! # Ok::<(), forbear::InvalidFamilies>(())
//! ```
//!
//! Where the vendor counts tokens, a request says what it costs, or the layer reads it from its head:
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{Cost, Families, Family, Pacing, PacingLayer};
//!
//! let pacing = Pacing::new().at_most(90_000, Duration::from_secs(60)).margin(Duration::from_millis(30));
//! let families = Families::builder().family(Family::new("llm").host("api.llm.example").pacing(pacing)).build()?;
//! // Four bytes a token, as a rule of thumb.
//! let layer = PacingLayer::new(families).cost_of(|head| {
//!     let length = head.headers.get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
//!     length.map_or(1_000, |bytes: u32| bytes / 4)
//! });
//! let request = http::Request::post("https://api.llm.example/v1/chat").extension(Cost(1_500)).body(())?;
//! # let _ = (layer, request);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Readiness.** Nothing is reserved while it is made ready. Who has to wait gives the readied service up, and makes a clone
//! ready when its turn has come. While that takes time nobody else takes its turn, for up to a second; where it takes longer, others
//! go, and it goes a gap after them.
//!
//! **Cancellation.** Dropping the future gives its place in the queue to the next; what was not sent costs no quota, and what was
//! is in flight no longer. **Memory.** Nothing is allocated for an attempt that goes at once, but for one small box where its
//! family is [steered](crate::Pacing::steered) or has a retry quota; one that waits has a box with its request.

mod body;
mod booked;
mod future;
mod layer;
mod line;
mod service;
mod waiting;

pub use body::Paced;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub(crate) use booked::Booked;
pub use future::PacingFuture;
pub use layer::PacingLayer;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub(crate) use line::{Line, Refused};
pub use service::PacingService;
