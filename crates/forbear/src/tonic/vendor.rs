use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Request;
use pin_project_lite::pin_project;
use tonic::Status;
use tower_service::Service;

use super::channel::Grpc;
use super::status;
use crate::{Budget, Error, Stack, Vendor, grpc_timeout};

impl Stack {
    /// Puts the layers around a tonic channel; generated clients take what comes out. See [`tonic`](crate::tonic).
    pub fn tonic<C>(&self, channel: C) -> GrpcVendor<C> {
        GrpcVendor { vendor: self.service(Grpc::new(channel)) }
    }
}

/// A tonic channel with all layers around it, for generated clients. See the [module](super).
#[derive(Debug, Clone)]
pub struct GrpcVendor<C> {
    vendor: Vendor<Grpc<C>>,
}

impl<C, B> Service<Request<B>> for GrpcVendor<C>
where
    Vendor<Grpc<C>>: Service<Request<B>, Error = Error>,
{
    type Response = <Vendor<Grpc<C>> as Service<Request<B>>>::Response;
    type Error = Status;
    type Future = GrpcFuture<<Vendor<Grpc<C>> as Service<Request<B>>>::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.vendor.poll_ready(cx).map_err(status::status)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // From tonic's `Request::set_timeout`.
        let timeout =
            request.headers().get("grpc-timeout").and_then(|value| grpc_timeout::read(value.as_bytes()));
        if let Some(timeout) = timeout {
            let Budget(mut limits) = Budget::within(timeout);
            if let Some(Budget(carried)) = request.extensions().get() {
                limits = limits.and(*carried);
            }
            request.extensions_mut().insert(Budget(limits));
        }
        GrpcFuture { inner: self.vendor.call(request) }
    }
}

pin_project! {
    /// The future of a [`GrpcVendor`]. Dropping it drops the call.
    #[must_use = "futures do nothing unless polled"]
    pub struct GrpcFuture<F> {
        #[pin]
        inner: F,
    }
}

impl<F, T> Future for GrpcFuture<F>
where
    F: Future<Output = Result<T, Error>>,
{
    type Output = Result<T, Status>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().inner.poll(cx).map_err(status::status)
    }
}

impl<F> fmt::Debug for GrpcFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcFuture").finish_non_exhaustive()
    }
}
