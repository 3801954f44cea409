//! A vendor that answers as it is told.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use tower::Service;

pub(crate) type Body = UnsyncBoxBody<Bytes, Fault>;

/// What the vendor fails with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) &'static str);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Fault {}

type Handler = dyn FnMut(&Request<Body>) -> Result<Response<Body>, Fault> + Send;

#[derive(Clone)]
pub(crate) struct Vendor(Arc<Shared>);

impl std::fmt::Debug for Vendor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vendor")
    }
}

struct Shared {
    handler: Mutex<Box<Handler>>,
    delay: Mutex<Duration>,
    asked: Mutex<Vec<HeaderMap>>,
    in_flight: AtomicUsize,
}

impl Vendor {
    /// Answers with what `handler` says.
    pub(crate) fn new(
        handler: impl FnMut(&Request<Body>) -> Result<Response<Body>, Fault> + Send + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            handler: Mutex::new(Box::new(handler)),
            delay: Mutex::default(),
            asked: Mutex::default(),
            in_flight: AtomicUsize::new(0),
        }))
    }

    /// Answers 200 with this `Cache-Control`, and with the number of the attempt as body.
    pub(crate) fn counting(cache_control: &'static str) -> Self {
        let mut number = 0;
        Self::new(move |_| {
            number += 1;
            Ok(ok(&[("cache-control", cache_control)], &number.to_string()))
        })
    }

    pub(crate) fn now(
        &self,
        handler: impl FnMut(&Request<Body>) -> Result<Response<Body>, Fault> + Send + 'static,
    ) {
        *self.0.handler.lock().unwrap() = Box::new(handler);
    }

    /// Every answer takes so long.
    pub(crate) fn takes(&self, delay: Duration) {
        *self.0.delay.lock().unwrap() = delay;
    }

    /// How many attempts it saw.
    pub(crate) fn attempts(&self) -> usize {
        self.0.asked.lock().unwrap().len()
    }

    /// The fields of the last one.
    pub(crate) fn asked(&self) -> HeaderMap {
        self.0.asked.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.0.in_flight.load(Ordering::SeqCst)
    }
}

pub(crate) fn body(text: &str) -> Body {
    let full = http_body_util::Full::new(Bytes::copy_from_slice(text.as_bytes()));
    full.map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// Whatever body, in a box.
pub(crate) fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<forbear::BoxError>,
{
    body.map_err(|_| Fault("the body failed")).boxed_unsync()
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], text: &str) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body(text)).unwrap()
}

pub(crate) fn ok(headers: &[(&str, &str)], text: &str) -> Response<Body> {
    answer(200, headers, text)
}

impl Service<Request<Body>> for Vendor {
    type Response = Response<Body>;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Fault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        shared.asked.lock().unwrap().push(request.headers().clone());
        shared.in_flight.fetch_add(1, Ordering::SeqCst);
        let flight = Flight(shared);
        Box::pin(async move {
            let delay = *flight.0.delay.lock().unwrap();
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let mut handler = flight.0.handler.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            handler(&request)
        })
    }
}

struct Flight(Arc<Shared>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}
