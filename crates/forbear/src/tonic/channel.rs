use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::Body;
use tower_service::Service;

use crate::body::BoxError;

/// A tonic channel as the service that layers go around: its body type is fixed, theirs is not. See the [module](super).
#[derive(Debug, Clone)]
pub struct Grpc<C> {
    channel: C,
}

impl<C> Grpc<C> {
    /// The adapter around a `tonic::transport::Channel`, or whatever takes `Request<tonic::body::Body>`.
    #[must_use]
    pub const fn new(channel: C) -> Self {
        Self { channel }
    }
}

impl<C, B> Service<Request<B>> for Grpc<C>
where
    C: Service<Request<tonic::body::Body>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = C::Response;
    type Error = C::Error;
    type Future = C::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.channel.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> C::Future {
        self.channel.call(request.map(tonic::body::Body::new))
    }
}
