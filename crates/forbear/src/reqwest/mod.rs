//! A `reqwest::Client` below a stack.
//!
//! **The failure it prevents.** A client that follows redirects by itself says who was asked, not who answered, and the
//! wrong vendor cools; and an adapter of one's own loses streams on the way, or prints the URL with its API key.
//!
//! | what | becomes |
//! |---|---|
//! | a request body of at most 64 KiB that is at hand | bytes, which reqwest can send on after a 307 or 308 |
//! | any other request body | a stream, sent once |
//! | a response body | a stream: nothing is read ahead |
//! | an answer of another URL than the one that was asked | [`EffectiveUri`](crate::EffectiveUri) in its extensions: its family pays |
//! | a `reqwest::Error` | [`Error::Client`](crate::Error::Client) with that as its source, without its URL |
//!
//! Requests in reqwest's own types:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use forbear::{Error, Families};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let families = Families::builder().build()?;
//! let client = reqwest::Client::new();
//! let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).reqwest(client.clone());
//!
//! match vendor.execute(client.get("http://api.example.com/quotes").build()?).await {
//!     Ok(response) => println!("{}", response.text().await?),
//!     Err(Error::Cooling(cooling)) => println!("not sent: {cooling}"),
//!     Err(other) => return Err(other.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The adapter alone, below layers of one's own, with `http`'s types:
//!
//! ```
//! use bytes::Bytes;
//! use forbear::{BudgetLayer, Reqwest};
//! use http_body_util::Empty;
//! use tower::{Service, ServiceBuilder};
//!
//! fn sends<S: Service<http::Request<Empty<Bytes>>, Response = http::Response<reqwest::Body>>>(_: &S) {}
//!
//! let client = Reqwest::new(reqwest::Client::new());
//! sends(&ServiceBuilder::new().layer(BudgetLayer::new(std::time::Duration::from_secs(30))).service(client));
//! ```
//!
//! **Amplification.** A client that sends limited requests again by itself (`ClientBuilder::retry` with a classifier of one's
//! own) does so below the gate, which did not admit them and does not see them: leave 429 and 503 out of the classifier.
//!
//! **Time.** `Client::timeout` and `RequestBuilder::timeout` bound one attempt, its body included; the budget bounds the
//! logical request. **Cancellation.** Dropping the future drops the attempt. **Memory.** Of a request body nothing beside
//! what [`Replay`](crate::body::Replay) keeps. **Readiness.** It reserves nothing.

mod request;
mod response;
mod service;
mod url;

#[cfg(feature = "reqwest-middleware")]
pub(crate) use self::request::outgoing_to;
#[cfg(feature = "reqwest-middleware")]
pub(crate) use self::response::{answer, back};
pub use self::service::{Reqwest, ReqwestFuture};

#[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
mod stacked {
    use super::{Reqwest, response};
    use crate::{Error, Stack, Vendor};

    impl Stack {
        /// Puts the layers around a reqwest client.
        #[must_use]
        pub fn reqwest(&self, client: reqwest::Client) -> Vendor<Reqwest> {
            self.service(Reqwest::new(client))
        }
    }

    impl Vendor<Reqwest> {
        /// Sends one logical request in reqwest's own types. A request that needs extensions, such as
        /// [`NoWait`](crate::NoWait), becomes an `http::Request` with `try_from`, and goes through
        /// [`Vendor::send`].
        ///
        /// # Errors
        /// As [`Vendor::send`]; a URL that is none for `http`, too, is [`Error::Client`].
        pub async fn execute(&self, request: reqwest::Request) -> Result<reqwest::Response, Error> {
            let asked = request.url().clone();
            let request = http::Request::<reqwest::Body>::try_from(request)
                .map_err(|error| Error::from_inner(error.without_url()))?;
            Ok(response::back(self.send(request).await?, asked))
        }
    }
}
