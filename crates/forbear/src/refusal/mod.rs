//! What a server answers its own callers where a vendor is not called, or says no.
//!
//! **The failure it prevents.** The vendor cools for four minutes; the server answers `500`, its callers try again at
//! once, and each other layer of retries above multiplies that. Here they are told `503` and when to come back.
//!
//! | what happened | status | `Retry-After` | [`forbear-refusal`](REFUSAL) | [type](Refusal::kind) |
//! |---|---|---|---|---|
//! | a refusal: the family cools, is paused, too many wait | `503` | where somebody knows | `local` | `refused` |
//! | the vendor's own limited answer, which a handler passes on | `503`, or [as it is](RefusalResponseLayer::pass_on_limited) | when its family is called again, or as the vendor says | `vendor` | `limited` |
//! | the budget is spent, and a wait that is known did not fit | `503` | when that ends | `local` | `budget-exhausted` |
//! | the budget is spent, and nobody knows more | `504` | no | `local` | `budget-exhausted` |
//! | the process shuts down | `503` | where somebody knows | `local` | `refused`, `budget-exhausted` |
//! | no family has the host or the name, and the policy is to refuse such | `500` | no | `local` | `unknown-family` |
//! | the client failed | `502` | no | none | `client-failed` |
//!
//! `Retry-After` is the whole seconds that are left when the response is made, rounded up: nobody is told to come back
//! too early. The body is a problem by [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457), `application/problem+json`:
//!
//! ```json
//! {
//!   "type": "https://github.com/forbear-rs/forbear/blob/main/docs/problems.md#refused",
//!   "title": "The vendor is not called for now",
//!   "status": 503,
//!   "detail": "quotes is not called, retry in 3m58s",
//!   "family": "quotes",
//!   "reason": "inflight_limit",
//!   "retry_at": "2026-03-01T12:04:58.250Z"
//! }
//! ```
//!
//! `family` and `retry_at` are left out where they are not known. No URL, no path, no header, no operator's name and no
//! text of a client's error is in it: those are in the [`Error`](crate::Error), for the server's own log.
//!
//! A handler that returns what happened as a response makes a [`Refusal`] of it; with axum, `forbear::Error` is a
//! response itself (feature `axum`). [`RefusalResponseLayer`] does it for a whole server: errors of services, in
//! whose chain of sources a `forbear::Error` is found, and limited answers that handlers pass on.
//!
//! ```
//! use std::time::Duration;
//! use bytes::Bytes;
//! use forbear::{BoxError, Families, Family, RefusalResponseLayer};
//! use forbear_mock::{MockVendor, reply};
//! use http_body_util::{BodyExt, Empty};
//! use tower::{Layer, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), BoxError> {
//! let mock = MockVendor::in_process().script(reply(429).retry_after(120));
//! let families = Families::builder().family(Family::new("quotes").host(mock.authority())).build()?;
//! let vendor = forbear::stack(&families).budget(Duration::from_secs(3)).service(mock.service());
//! let url = mock.url("/chart");
//!
//! let handler = service_fn(move |_: http::Request<()>| {
//!     let (vendor, url) = (vendor.clone(), url.clone());
//!     async move { Ok::<_, BoxError>(vendor.send(http::Request::get(url).body(Empty::<Bytes>::new())?).await?) }
//! });
//! // Errors in a box, as tower's own layers have them; without `boxed` the error keeps its type.
//! let server = RefusalResponseLayer::new().boxed().layer(handler);
//!
//! for by in ["vendor", "local"] {
//!     let answer = server.clone().oneshot(http::Request::new(())).await?;
//!     assert_eq!((answer.status().as_u16(), &answer.headers()["retry-after"]), (503, &"120".parse()?));
//!     assert_eq!(answer.headers()["forbear-refusal"], by);
//!     let problem: serde_json::Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
//!     assert_eq!(problem["family"], "quotes");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A handler that reads the answer, rather than to hand it on, looks at it first, with [`Refusal::check`]: a vendor's `429` whose
//! wait does not fit is an answer, not an error. The budget is over when the answer begins; what a handler does with its body is the
//! handler's own work, which `ends_handlers` bounds.
//!
//! A gateway that hands on what vendors say, and ends handlers at the inbound deadline:
//!
//! ```
//! use std::time::Duration;
//! use forbear::{InboundBudgetLayer, RefusalResponseLayer};
//! use tower::ServiceBuilder;
//!
//! let server = ServiceBuilder::new()
//!     .layer(InboundBudgetLayer::new(Duration::from_secs(10)))
//!     .layer(RefusalResponseLayer::new().pass_on_limited().ends_handlers());
//! # let _ = server;
//! ```
//!
//! **Place.** Around the handlers, inside [`InboundBudgetLayer`](crate::InboundBudgetLayer), outside of what turns
//! errors into answers of its own. In a gRPC server leave it out: there a status is a trailer.
//!
//! **Shadow mode.** A limited answer that was met in it is handed on untouched.
//!
//! **Cancellation.** Dropping the future drops the handler. **Memory.** Nothing is kept; a refusal's body is some 300
//! bytes. A vendor's answer that is translated is dropped with its body unread.

mod answer;
mod body;
mod errors;
mod future;
mod kind;
mod layer;
mod problem;
mod rfc3339;
mod service;
mod told;

pub use answer::Answer;
pub use body::RefusalBody;
pub use errors::{Boxed, Errors, Typed};
pub use future::RefusalResponseFuture;
pub use kind::Kind;
pub use layer::RefusalResponseLayer;
pub use problem::REFUSAL;
pub use service::RefusalResponseService;
pub use told::Refusal;
