//! What the tests of several layers share.
#![allow(dead_code, unused_imports, reason = "each test binary uses a part of it")]

mod client;
mod cut;
mod told;

pub(crate) use client::{Act, Client, Failed, answer, fails, hangs, limited, panics, panics_in_call};
pub(crate) use cut::{cut, cut_when_woken, poll_once};
pub(crate) use told::Told;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use tower::{Service, ServiceExt};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) type Sent = Full<Bytes>;

pub(crate) fn get(uri: &str) -> Request<Sent> {
    request(Method::GET, uri)
}

pub(crate) fn request(method: Method, uri: &str) -> Request<Sent> {
    Request::builder().method(method).uri(uri).body(Full::default()).unwrap()
}

/// The same request with one more extension.
pub(crate) fn with<B>(mut request: Request<B>, extension: impl Clone + Send + Sync + 'static) -> Request<B> {
    request.extensions_mut().insert(extension);
    request
}

/// Makes `service` ready, and calls it.
pub(crate) async fn called<S, R>(service: &mut S, request: R) -> S::Future
where
    S: Service<R, Error: std::fmt::Debug>,
{
    service.ready().await.unwrap().call(request)
}
