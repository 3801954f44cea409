//! Layers of one step each: below what they cost no layer can be that does as much.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::Request;
use tower::{Layer, Service};

use crate::client::{Attempt, Body, Client};

/// What such a layer does when a call begins, and when its future is dropped.
pub(crate) trait Step: Clone + Send + Sync + 'static {
    fn enter(&self);
    fn leave(&self);
}

/// Nothing.
#[derive(Debug, Clone)]
pub(crate) struct Nothing;

/// How many calls are in flight, in one counter that all threads share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

/// The same behind one lock.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locked(Arc<Mutex<u64>>);

impl Step for Nothing {
    fn enter(&self) {}
    fn leave(&self) {}
}

impl Step for Counter {
    fn enter(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Step for Locked {
    fn enter(&self) {
        *self.0.lock().unwrap() += 1;
    }

    fn leave(&self) {
        *self.0.lock().unwrap() -= 1;
    }
}

/// The layer of one step.
#[derive(Debug, Clone)]
pub(crate) struct Bare<P>(pub(crate) P);

/// The service of [`Bare`].
#[derive(Debug, Clone)]
pub(crate) struct BareService<P> {
    step: P,
    client: Client,
}

/// The future of [`BareService`].
#[derive(Debug)]
pub(crate) struct BareAttempt<P: Step> {
    step: P,
    attempt: Attempt,
}

impl<P: Step> Layer<Client> for Bare<P> {
    type Service = BareService<P>;

    fn layer(&self, client: Client) -> BareService<P> {
        BareService { step: self.0.clone(), client }
    }
}

impl<P: Step + Unpin> Service<Request<Body>> for BareService<P> {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = BareAttempt<P>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<Body>>::poll_ready(&mut self.client, cx)
    }

    fn call(&mut self, request: Request<Body>) -> BareAttempt<P> {
        self.step.enter();
        BareAttempt { step: self.step.clone(), attempt: self.client.call(request) }
    }
}

impl<P: Step + Unpin> Future for BareAttempt<P> {
    type Output = <Attempt as Future>::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.attempt).poll(cx)
    }
}

impl<P: Step> Drop for BareAttempt<P> {
    fn drop(&mut self) {
        self.step.leave();
    }
}
