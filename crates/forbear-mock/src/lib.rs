//! Scripted vendors for tests of code that meets rate limits.
//!
//! A program that calls other people's services is mostly tested against services that are well. The failures that
//! hurt come from the other days: a client that sends again two seconds after it was told to wait five, fifty
//! callers that all try the moment a limit ends. A [`MockVendor`] plays such a day from a script and keeps a log of
//! every attempt, with its time, so that a test can say what must not have been sent and when.
//!
//! | you want | you write |
//! |---|---|
//! | a vendor on a real loopback socket | [`MockVendor::start()`](MockVendor::start)`.await` |
//! | a vendor inside the process, obeying a paused clock | [`MockVendor::in_process()`] and [`MockVendor::service()`] |
//! | the same replies on every path | [`.script([reply(429).retry_after(5), reply(200)])`](MockVendor::script) |
//! | a path with replies of its own | [`.route("/v8/chart", [reply(503)])`](MockVendor::route) |
//! | replies that come round again | [`.script(cycle([reply(200).times(9), reply(503)]))`](cycle) |
//! | replies that depend on the attempt | [`.script(respond_with(\|attempt\| …))`](respond_with) |
//! | a slow head, a slow body | [`reply(200).delay(d)`](Reply::delay), [`.slow_body(bytes, every)`](Reply::slow_body) |
//! | a connection that breaks | [`reply(200).reset()`, `.close_in_body(4)` and others](#faults) |
//! | a vendor that limits | [`.limit(Limiter::sliding_window(100, minute))`](MockVendor::limit) |
//! | an outage, planned or switched | [`.outage_between(from, until, reply(503))`](MockVendor::outage_between), [`vendor.outage(reply(503))`](MockVendor::outage), [`vendor.recover()`](MockVendor::recover) |
//! | what was sent | [`vendor.attempts()`](MockVendor::attempts), [`vendor.attempts_on(path)`](MockVendor::attempts_on), and of these [`.refused()`](Attempts::refused), [`.accepted()`](Attempts::accepted) |
//! | what must hold of it | [`assert_attempts`](MockVendor::assert_attempts), [`assert_gap_at_least`](MockVendor::assert_gap_at_least), [`assert_rate_at_most`](MockVendor::assert_rate_at_most) and the others on [`Attempts`] |
//!
//! A script is played once from its beginning and then repeats its last reply. A path without a script of its own
//! plays the default script, whose position all such paths share; where there is none either, the answer is `501`
//! with a body that says so. Outages come before limits, and limits before scripts: what an outage or a limit answers
//! moves no script.
//!
//! # On a socket
//!
//! Any HTTP/1.1 or cleartext HTTP/2 client can call it; the server runs on a thread of its own and stops with the
//! last clone of the vendor. Its times are real times, so don't pause the test's clock here.
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use forbear_mock::{MockVendor, reply};
//! use http_body_util::Empty;
//! use hyper_util::{client::legacy::Client, rt::TokioExecutor};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let vendor = MockVendor::start().await
//!     .script([reply(429).retry_after(5), reply(200).json_text(r#"{"price": 7}"#)])
//!     .route("/status", [reply(200)]);
//!
//! let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
//! let limited = client.get(vendor.url("/quotes?symbol=X").parse()?).await?;
//! assert_eq!((limited.status().as_u16(), &limited.headers()["retry-after"]), (429, &"5".parse()?));
//! assert_eq!(client.get(vendor.url("/status").parse()?).await?.status(), 200);
//!
//! vendor.assert_attempts(2);
//! assert_eq!(vendor.attempts_on("/quotes")[0].query(), Some("symbol=X"));
//! vendor.attempts().assert_gap_at_most(Duration::from_secs(60));
//! # Ok(())
//! # }
//! ```
//!
//! # Under a paused clock
//!
//! Five minutes of cool-down pass in no time when tokio's clock is paused, but only without real I/O.
//! [`MockVendor::service`] is the same vendor as a Tower service: same scripts, same log, no socket.
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use forbear_mock::{MockVendor, reply};
//! use http_body_util::Empty;
//! use tower::ServiceExt;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let vendor = MockVendor::in_process().script([reply(429).retry_after(300).times(2), reply(200)]);
//!
//! // The code under test: here the simplest client that does as it is told.
//! loop {
//!     let request = http::Request::get(vendor.url("/quotes")).body(Empty::<Bytes>::new())?;
//!     let response = vendor.service().oneshot(request).await?;
//!     let Some(seconds) = response.headers().get("retry-after") else { break };
//!     tokio::time::sleep(Duration::from_secs(seconds.to_str()?.parse()?)).await;
//! }
//!
//! vendor.assert_attempts(3);
//! vendor.assert_gap_at_least(Duration::from_secs(300));
//! # Ok(())
//! # }
//! ```
//!
//! # A vendor that limits
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use forbear_mock::{Limiter, MockVendor, reply};
//! use http_body_util::Empty;
//! use tower::ServiceExt;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let second = Duration::from_secs(1);
//! let vendor = MockVendor::in_process()
//!     .script(reply(200))
//!     .limit(Limiter::sliding_window(10, second).refusal_with(|wait| reply(429).retry_after_wait(wait)));
//!
//! // The code under test: twelve a second, which is too fast.
//! for _ in 0..120 {
//!     let request = http::Request::get(vendor.url("/")).body(Empty::<Bytes>::new())?;
//!     vendor.service().oneshot(request).await?;
//!     tokio::time::sleep(second / 12).await;
//! }
//!
//! let attempts = vendor.attempts();
//! attempts.assert_rate_at_most(12, second);
//! attempts.accepted().assert_rate_at_most(10, second);
//! assert_eq!((attempts.accepted().len(), attempts.refused().len()), (100, 20));
//! # Ok(())
//! # }
//! ```
//!
//! # Faults
//!
//! Each is a setter of a [`Reply`], so that a script can mix faults and good answers on one port. Of those that end
//! the connection the last one set counts; each goes with [`delay`](Reply::delay) and
//! [`slow_body`](Reply::slow_body).
//!
//! | fault | on a socket, HTTP/1.1 | HTTP/2 | in process |
//! |---|---|---|---|
//! | [`reset`](Reply::reset) | TCP RST instead of an answer | the same: every stream of the connection ends | the call fails: [`ConnectionReset`] |
//! | [`close_before_head`](Reply::close_before_head) | FIN instead of an answer | this stream is reset | the call fails: [`UnexpectedEof`] |
//! | [`close_before_body`](Reply::close_before_body), [`close_in_body`](Reply::close_in_body) | a head that promises the whole body, less body than that, then FIN | this stream is reset in its body | the body fails: [`UnexpectedEof`] |
//! | [`half_close`](Reply::half_close) | the whole answer, then FIN, while the vendor goes on reading | a plain answer | a plain answer |
//!
//! A `Content-Length` that promises more than the body has is a close in the body too; one that promises less cuts it.
//!
//! In process the errors are [`std::io::Error`]s of the kind named, as [`MockService`]'s and [`MockBody`]'s error type.
//!
//! [`ConnectionReset`]: std::io::ErrorKind::ConnectionReset
//! [`UnexpectedEof`]: std::io::ErrorKind::UnexpectedEof
//!
//! # When a test fails
//!
//! An assertion that fails panics at the caller's line and prints the log as a timeline:
//!
//! ```text
//! expected at least 5s between attempts, but #2 came 1.2s after #1
//! attempts: 2
//!   #1            +0ns  GET /quotes  429 retry-after: 5
//!   #2           +1.2s  GET /quotes  200  <-- 1.2s after #1
//! ```
//!
//! Queries, headers and bodies are recorded but never printed, so a failing test leaks no credential into a CI log.
//!
//! # Limits
//!
//! The log keeps every attempt with its headers and body until the vendor is dropped. Request trailers are not
//! kept. On a socket, attempts are logged and answered one at a time; delays and slow bodies run concurrently. It
//! speaks no TLS. A closure that owns a clone of its vendor keeps it, socket and all, until another script takes the
//! closure's place.

// Pages say which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod assertions;
mod attempt;
mod body;
#[cfg(feature = "conformance")]
pub mod conformance;
mod engine;
mod fault;
mod limiter;
mod outage;
mod receive;
mod reply;
#[cfg(feature = "wiremock")]
mod responder;
mod script;
mod service;
mod timeline;
mod vendor;
mod wire;

pub use attempt::{Attempt, Attempts};
pub use body::MockBody;
pub use limiter::Limiter;
pub use reply::{Reply, reply};
#[cfg(feature = "wiremock")]
pub use responder::Responder;
pub use script::{Script, cycle, respond_with};
pub use service::{MockService, ReplyFuture};
pub use vendor::MockVendor;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
