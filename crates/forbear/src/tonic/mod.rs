//! A tonic channel below a stack.
//!
//! **The failure it prevents.** A gRPC server says `RESOURCE_EXHAUSTED` in the headers of a `200`, where nothing that looks at
//! statuses sees it, and says how long to stay away in `grpc-retry-pushback-ms`, which tonic does not read.
//!
//! | what | becomes |
//! |---|---|
//! | `RESOURCE_EXHAUSTED` without a message (trailers-only), where the family's dialect is [`presets::grpc`](crate::presets::grpc) | a signal; its push-back is the delay |
//! | `grpc-timeout`, from `Request::set_timeout` | the budget of the call, if it ends earlier: all attempts and waits together |
//! | [`Error::Cooling`](crate::Error::Cooling), [`Error::Pacing`](crate::Error::Pacing) | `UNAVAILABLE`, with the time left in `grpc-retry-pushback-ms` |
//! | [`Error::BudgetExhausted`](crate::Error::BudgetExhausted) | `DEADLINE_EXCEEDED` |
//! | [`Error::UnknownFamily`](crate::Error::UnknownFamily) | `FAILED_PRECONDITION` |
//! | an error of the channel | the status that tonic makes of it |
//! | extensions of a request, such as [`NoWait`](crate::NoWait) | given with `Request::extensions_mut` |
//!
//! [`Error::find`](crate::Error::find) finds forbear's error in a status.
//!
//! A gRPC call is a `POST`, and nothing says whether a limited one was carried out. So it is sent again only where it bears
//! `idempotency-key` in its metadata; else its status is returned, and the next call waits for its family. Messages stream
//! both ways; a call of which more than 64 KiB were sent is not sent again.
//!
//! ```
//! use std::time::Duration;
//!
//! use forbear::{Families, Family, presets};
//! # type Body = http_body_util::Empty<bytes::Bytes>;
//! # let channel = tower::service_fn(async |_: http::Request<tonic::body::Body>| Ok::<_, std::io::Error>(http::Response::new(Body::new())));
//!
//! let quotes = Family::new("quotes").host("quotes.example.com").dialect(presets::grpc().dialect());
//! let families = Families::builder().family(quotes).build()?;
//! let channel = forbear::stack(&families).budget(Duration::from_secs(30)).tonic(channel);
//! // QuotesClient::with_origin(channel, "http://quotes.example.com".parse()?)
//! # let _ = channel;
//! # Ok::<(), forbear::InvalidFamilies>(())
//! ```
//!
//! A generated client that is made with `new` sends requests without a host, which have no family: make it with
//! `with_origin`, or put a [`FamilyName`](crate::FamilyName) into the request's extensions.
//!
//! The adapter alone, below layers of one's own:
//!
//! ```
//! use forbear::{BudgetLayer, tonic::Grpc};
//! use tower::ServiceBuilder;
//! # let channel = tower::service_fn(async |_: http::Request<tonic::body::Body>| Ok::<_, std::io::Error>(http::Response::new(())));
//!
//! let channel = ServiceBuilder::new().layer(BudgetLayer::unlimited()).service(Grpc::new(channel));
//! # let _ = channel;
//! ```
//!
//! **Cancellation.** Dropping the future drops the call. **Memory.** Nothing beside what the layers keep. **Readiness.** It is
//! the channel's.

mod channel;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
mod status;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
mod vendor;

pub use self::channel::Grpc;
#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
pub use self::vendor::{GrpcFuture, GrpcVendor};
