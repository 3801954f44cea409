//! The vendor inside the process: a Tower service.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::header::HOST;
use http::{HeaderMap, Request, Response, Uri};
use http_body::Body;
use http_body_util::{BodyExt, Full};

use crate::attempt::Received;
use crate::engine::Engine;

/// A [`MockVendor`](crate::MockVendor) as a service, from [`MockVendor::service`](crate::MockVendor::service).
///
/// Always ready. It answers every request it is given, whatever the scheme and host. Clones share the vendor's
/// scripts and log, and outlive it.
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
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = ReplyFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ReplyFuture {
        let engine = Arc::clone(&self.engine);
        ReplyFuture(Box::pin(async move {
            let (parts, body) = request.into_parts();
            let (body, whole) = read(body).await;
            let received = Received {
                authority: authority(&parts.headers, &parts.uri),
                method: parts.method,
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().map(str::to_owned),
                headers: parts.headers,
                body,
            };
            let reply = if whole { engine.answer(received) } else { engine.reject(received) };
            if !reply.wait().is_zero() {
                tokio::time::sleep(reply.wait()).await;
            }
            reply.to_response()
        }))
    }
}

/// The body, and whether it came to its end.
async fn read<B: Body>(body: B) -> (Bytes, bool) {
    let mut body = pin!(body);
    let mut bytes = BytesMut::new();
    loop {
        match body.as_mut().frame().await {
            None => return (bytes.freeze(), true),
            Some(Err(_)) => return (bytes.freeze(), false),
            Some(Ok(frame)) => {
                if let Ok(mut data) = frame.into_data() {
                    while data.has_remaining() {
                        let chunk = data.chunk();
                        let read = chunk.len();
                        bytes.put_slice(chunk);
                        data.advance(read);
                    }
                }
            }
        }
    }
}

fn authority(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok());
    host.or(uri.authority().map(http::uri::Authority::as_str)).map(str::to_owned)
}

/// The answer of a [`MockService`], ready when the reply's [`delay`](crate::Reply::delay) is over.
#[must_use = "an attempt is made when the future is polled"]
pub struct ReplyFuture(Pin<Box<dyn Future<Output = Response<Full<Bytes>>> + Send>>);

impl Future for ReplyFuture {
    type Output = Result<Response<Full<Bytes>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

impl fmt::Debug for ReplyFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyFuture").finish_non_exhaustive()
    }
}
