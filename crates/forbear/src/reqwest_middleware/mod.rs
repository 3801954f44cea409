//! A stack as a middleware of [reqwest-middleware](https://docs.rs/reqwest-middleware): one line to adopt it.
//!
//! **The failure it prevents.** A retry middleware waits by a policy that does not see what the vendor said, knows nothing of
//! what other calls were told, and fails a streamed upload before anything is sent.
//!
//! | what | happens |
//! |---|---|
//! | a limited answer whose wait fits | waited out, and sent again through the middleware after this one |
//! | a body that cannot be sent again | sent once, untouched; its 429 is returned |
//! | a redirect that the client followed | the answer is charged to the URL that answered |
//! | a refusal, a spent budget | `reqwest_middleware::Error::Middleware` with a [`forbear::Error`](crate::Error) inside, which [`Error::find`](crate::Error::find) finds |
//! | an error of the client, or of a middleware below | as it was, without its URL |
//! | extensions of a request, such as [`NoWait`](crate::NoWait) | given with `RequestBuilder::with_extension` |
//! | a limited answer that is returned | has [`Signal`](crate::Signal) in `Response::extensions` |
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use forbear::{Error, Families, ForbearMiddleware};
//! use reqwest_middleware::ClientBuilder;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let families = Families::builder().build()?;
//! let client = ClientBuilder::new(reqwest::Client::new())
//!     .with(ForbearMiddleware::new(&families).budget(Duration::from_secs(30)))
//!     .build();
//!
//! match client.get("http://api.example.com/quotes").send().await {
//!     Ok(response) => println!("{}", response.text().await?),
//!     Err(error) => match Error::find(&error) {
//!         Some(Error::Cooling(cooling)) => println!("not sent: {cooling}"),
//!         _ => return Err(error.into()),
//!     },
//! }
//! # Ok(())
//! # }
//! ```
//!
//! With a stack that was told more:
//!
//! ```
//! use forbear::{Families, ForbearMiddleware, RetryAfterLayer};
//!
//! let families = Families::builder().build()?;
//! let stack = forbear::stack(&families).retry_after(RetryAfterLayer::new().replay_limit(1 << 20));
//! let middleware = ForbearMiddleware::from(stack);
//! # let _ = middleware;
//! # Ok::<(), forbear::InvalidFamilies>(())
//! ```
//!
//! **Place in the order.** Middleware before it (added earlier) sees one call for each logical request; middleware after it
//! sees every attempt, and belongs there where each attempt needs it, such as signing or tracing. A retry of faults belongs
//! before it and leaves limits alone. **Cancellation.** Dropping the future drops the attempt, and gives up its place in the
//! queue. **Memory.** A clone of the extensions for each attempt, and what the layers keep.

mod middleware;
mod resent;
mod through;

pub use middleware::ForbearMiddleware;
