//! The vendors of this program: the only place where a client is made.

use std::time::Duration;

use bytes::Bytes;
use forbear::{Families, Vendor, body::Replay};
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;

/// The vendor of quotes, with all layers around its client.
pub type Quotes = Vendor<Client<HttpConnector, Replay<Empty<Bytes>>>>;

/// A vendor that shares `families` with all others.
#[must_use]
pub fn quotes(families: &Families) -> Quotes {
    let client = Client::builder(TokioExecutor::new()).build_http();
    forbear::stack(families).budget(Duration::from_secs(30)).service(client)
}
