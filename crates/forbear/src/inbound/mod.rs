//! One budget for all that a server's handler asks of others.
//!
//! **The failure it prevents.** The caller gives up after two seconds; the handler asks three vendors, one after the
//! other, each with a timeout of ten. It goes on working for somebody who left. Here the inbound deadline is read once,
//! and every outbound call of the handler spends from what is left of it.
//!
//! The deadline is the shortest of
//!
//! | source | form |
//! |---|---|
//! | a header, `x-request-timeout-ms` unless [another](InboundBudgetLayer::header) is named | whole milliseconds; [`DeadlineHeader::seconds`] for seconds |
//! | `grpc-timeout` | 1 to 8 digits and a unit `H`, `M`, `S`, `m`, `u` or `n`, as the [gRPC specification](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md) has it |
//! | the server's own [default](InboundBudgetLayer::new), also a cap unless a [maximum](InboundBudgetLayer::maximum) is set | a `Duration` |
//! | a [`Budget`](crate::Budget) in the request's extensions, for sources of your own | put there by a layer outside |
//!
//! counted from the call. Of repeated lines the shortest counts. A value that is not of its form (negative, `NaN`, a
//! list) is left out with an event at debug level, which names the header and not the value; it is never an error to the
//! caller. One that is too large to be held is a very long time, and capped.
//!
//! | situation | what happens |
//! |---|---|
//! | an outbound call has a budget of its own | the earlier deadline stands |
//! | it would wait past the inbound deadline | it ends at once, as in any [budget](crate::budget) |
//! | the deadline comes while a call with a [`BudgetLayer`](crate::BudgetLayer) is in flight | that call is dropped: [`BudgetExhausted`](crate::BudgetExhausted) |
//! | the deadline comes while the handler does something else | it goes on: it can still answer with what it has, see below |
//! | no header, and no default | nothing is bounded, as without the layer |
//! | a task that the handler spawns | outside: read [`Budget::current`](crate::Budget::current) before, and put it into the task's requests |
//! | the response's body, streamed after the handler returned | outside |
//!
//! **The handler is not ended.** Only its outbound calls are bounded, because a handler often has something left to say:
//! an older answer, a part of it, or why there is none. A
//! [`RefusalResponseLayer`](crate::RefusalResponseLayer::ends_handlers) inside this one ends it too, with `504`.
//!
//! **Place.** As far out as the deadline shall hold: what stands outside of it, such as authentication, has its own time.
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{Budget, InboundBudgetLayer};
//! use tower::{Layer, ServiceExt, service_fn};
//! # use std::convert::Infallible;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! async fn handler(_: http::Request<()>) -> Result<http::Response<String>, Infallible> {
//!     let left = Budget::current().map(|budget| budget.remaining());
//!     Ok(http::Response::new(format!("{left:?}")))
//! }
//!
//! let server = InboundBudgetLayer::new(Duration::from_secs(10)).layer(service_fn(handler));
//! let request = http::Request::get("/").header("x-request-timeout-ms", "300").body(())?;
//! assert_eq!(server.oneshot(request).await?.into_body(), "Some(300ms)");
//! # Ok(())
//! # }
//! ```
//!
//! Behind a proxy that names the header otherwise, and callers that may ask for more than the default:
//!
//! ```
//! # use std::time::Duration;
//! use forbear::{InboundBudgetLayer, inbound::DeadlineHeader};
//! use http::HeaderName;
//!
//! let layer = InboundBudgetLayer::new(Duration::from_secs(10))
//!     .maximum(Duration::from_secs(60))
//!     .header(DeadlineHeader::milliseconds(HeaderName::from_static("x-envoy-expected-rq-timeout-ms")));
//! # let _ = layer;
//! ```
//!
//! Anybody can send these headers. Without a maximum above the default they only shorten what the server gives anyway.
//!
//! **Cancellation.** Dropping the future drops the handler; nothing is held, also where the handler panics. **Memory.**
//! A few words in the future; no allocation, no timer.

mod future;
mod header;
mod layer;
mod service;

pub use future::InboundBudgetFuture;
pub use header::DeadlineHeader;
pub use layer::InboundBudgetLayer;
pub use service::InboundBudgetService;
