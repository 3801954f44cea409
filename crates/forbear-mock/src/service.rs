//! The vendor inside the process: a Tower service.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;

use crate::MockBody;
use crate::engine::Engine;
use crate::receive::{ends_with_head, receive};

/// A [`MockVendor`](crate::MockVendor) as a service, from [`MockVendor::service`](crate::MockVendor::service).
///
/// Always ready. It answers every request it is given, whatever the scheme and host. Clones share the vendor's
/// scripts and log, and outlive it. A call fails, and so does the body of an answer, only where the reply says so: with
/// an [`io::Error`], whose kind tells a reset from a close ([table](crate#faults)).
///
/// Cancellation: a future dropped before the request's body was read to the end leaves no trace; dropped later, the
/// attempt is in the log and the script has moved on.
#[derive(Clone, Debug)]
pub struct MockService {
    engine: Arc<Engine>,
}

impl MockService {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }
}

impl<B> tower_service::Service<Request<B>> for MockService
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<MockBody>;
    type Error = io::Error;
    type Future = ReplyFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ReplyFuture {
        let engine = Arc::clone(&self.engine);
        let method = request.method().clone();
        ReplyFuture(Box::pin(async move {
            let response = receive(&engine, request).await.into_response()?;
            let bodiless = ends_with_head(&method, response.status());
            Ok(if bodiless { response.map(MockBody::withheld) } else { response })
        }))
    }
}

/// The answer of a [`MockService`], ready when the reply's [`delay`](crate::Reply::delay) is over.
#[must_use = "an attempt is made when the future is polled"]
pub struct ReplyFuture(Pin<Box<dyn Future<Output = io::Result<Response<MockBody>>> + Send>>);

impl Future for ReplyFuture {
    type Output = io::Result<Response<MockBody>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for ReplyFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyFuture").finish_non_exhaustive()
    }
}
