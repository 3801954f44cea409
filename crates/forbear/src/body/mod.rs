//! Bodies that survive being sent again, looked at, or thrown away.
//!
//! A request that is sent again needs its body again; a signal may be written in a response's body, which its
//! caller still wants whole; and a response that is discarded before a wait should give its connection back.
//! Each of the three is usually where memory leaks, bytes vanish or calls hang, so each has a bound here, and
//! past the bound the traffic goes on untouched.
//!
//! | piece | body of | does | at most | past that |
//! |---|---|---|---|---|
//! | [`Replay`], [`Tape`] | the request | keeps what an attempt has read, for the next attempt | `cap` bytes | the buffer is freed, the running attempt goes on, the tape cannot rewind |
//! | [`Peek`], [`Peeked`] | the response | reads the start, decoded where it is told how, then hands every frame on | `limit` bytes, or [a decoder's bounds](forbear_core::coding), `deadline` | degrades to what was read |
//! | [`Drain`] | a discarded response | reads on to the end | `limit` bytes, `deadline` | the body is dropped, and its connection with it |
//!
//! # A request body that is sent twice
//!
//! ```
//! use bytes::Bytes;
//! use forbear::body::Replay;
//! use http_body_util::{BodyExt, Full};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let (first, tape) = Replay::record(Full::<Bytes>::from("order 7"), 64 * 1024);
//! assert_eq!(first.collect().await.unwrap().to_bytes(), "order 7");
//!
//! let second = tape.rewind().expect("seven bytes are under the cap");
//! assert_eq!(second.collect().await.unwrap().to_bytes(), "order 7");
//! # }
//! ```
//!
//! # A response body that is looked at
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use forbear::body::Peek;
//! use http_body_util::{BodyExt, Full};
//! use tokio::time::Instant;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let body = Full::<Bytes>::from(r#"{"reason":"inflight_limit"}"#);
//! let deadline = Instant::now() + Duration::from_millis(250);
//! let (body, seen) = Peek::new(body, 9, deadline).await;
//! assert_eq!(seen, r#"{"reason""#);
//! assert_eq!(body.collect().await.unwrap().to_bytes(), r#"{"reason":"inflight_limit"}"#);
//! # }
//! ```
//!
//! # Cancellation
//!
//! [`Peek`] and [`Drain`] own their body: dropping them drops it. A dropped [`Replay`] leaves what it read on the
//! [`Tape`]; the original body is dropped at its end, or with the last of its replays, their clones and the tape.

mod drain;
mod held;
mod peek;
mod peeked;
mod replay;
mod tape;
mod until;

pub use drain::Drain;
pub use peek::Peek;
pub use peeked::Peeked;
pub use replay::Replay;
pub use tape::Tape;
#[cfg(any(feature = "reqwest", feature = "stale"))]
pub(crate) use tape::into_bytes;
#[cfg(feature = "reqwest")]
pub(crate) use tape::longer;

/// Any error that may cross threads.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
