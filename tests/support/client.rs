//! A plain HTTP/1 client, the stack around it, and requests for it.

use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{Error, Families, NoWait, Vendor};
use http::Request;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// The body of every request here.
pub type Body = Full<Bytes>;

/// A client on real sockets, below the layers.
pub type Wire = Client<HttpConnector, Replay<Body>>;

/// The whole stack on real sockets.
pub type WireVendor = Vendor<Wire>;

/// A client with connections of its own.
#[must_use]
pub fn client<B>() -> Client<HttpConnector, B>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    Client::builder(TokioExecutor::new()).build_http()
}

/// `forbear::stack` around a new client.
#[must_use]
pub fn stack(families: &Families, budget: Duration) -> WireVendor {
    forbear::stack(families).budget(budget).service(client())
}

/// A GET.
///
/// # Panics
///
/// When `url` is none.
pub fn get(url: impl AsRef<str>) -> Request<Body> {
    Request::get(url.as_ref()).body(Full::default()).unwrap()
}

/// A GET that is never parked for a cool-down.
///
/// # Panics
///
/// When `url` is none.
pub fn get_now(url: impl AsRef<str>) -> Request<Body> {
    let mut request = get(url);
    request.extensions_mut().insert(NoWait);
    request
}

/// The refusal that `result` must be.
///
/// # Panics
///
/// When it is an answer or another error.
#[track_caller]
pub fn cooling<T: std::fmt::Debug>(result: Result<T, Error>) -> forbear::Cooling {
    match result {
        Err(Error::Cooling(cooling)) => cooling,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
