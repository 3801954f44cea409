//! The [inbound budget](crate::inbound) and [refusals](crate::refusal) in axum's types.
//!
//! | | |
//! |---|---|
//! | `forbear::Error` as a response | a handler returns `Result<_, forbear::Error>`, and `?` does the rest |
//! | [`Refusal`] as a response | for a limited answer ([`Refusal::check`], where a handler reads it), and for errors that have a `forbear::Error` in their chain |
//! | [`InboundBudget`] | an extractor: what is left of the inbound deadline |
//! | [`InboundBudgetLayer`], [`RefusalResponseLayer`] | for `Router::layer`, as they are |
//!
//! ```
//! use std::time::Duration;
//!
//! use axum::{Router, body::Body, extract::State, response::Response, routing::get};
//! use bytes::Bytes;
//! use forbear::axum::{InboundBudget, InboundBudgetLayer, RefusalResponseLayer};
//! use forbear::{Families, Vendor, body::Replay};
//! use http_body_util::Empty;
//! use hyper_util::client::legacy::{Client, connect::HttpConnector};
//! use hyper_util::rt::TokioExecutor;
//! use tower::ServiceBuilder;
//!
//! type Quotes = Vendor<Client<HttpConnector, Replay<Empty<Bytes>>>>;
//!
//! async fn quote(State(quotes): State<Quotes>, inbound: InboundBudget) -> Result<Response, forbear::Error> {
//!     println!("{:?} left", inbound.remaining());
//!     let url = http::Uri::from_static("http://query1.example.com/v8/chart");
//!     let mut request = http::Request::new(Empty::new());
//!     *request.uri_mut() = url;
//!     Ok(quotes.send(request).await?.map(Body::new))
//! }
//!
//! let families = Families::builder().build()?;
//! let client = Client::builder(TokioExecutor::new()).build_http();
//! let quotes = forbear::stack(&families).budget(Duration::from_secs(30)).service(client);
//! let app: Router = Router::new().route("/quote", get(quote)).with_state(quotes).layer(
//!     ServiceBuilder::new()
//!         .layer(InboundBudgetLayer::new(Duration::from_secs(10)))
//!         .layer(RefusalResponseLayer::new()),
//! );
//! # let _ = app;
//! # Ok::<(), forbear::BoxError>(())
//! ```

mod extract;
mod respond;

pub use crate::inbound::{DeadlineHeader, InboundBudgetLayer};
pub use crate::refusal::{Refusal, RefusalResponseLayer};
pub use extract::InboundBudget;
