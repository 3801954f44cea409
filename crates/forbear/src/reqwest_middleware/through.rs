//! What comes after this middleware, as the client of a stack.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Extensions, Request, Response};
use reqwest::Url;
use reqwest_middleware::{Error as Theirs, Next};
use tower_service::Service;

use super::resent::Resent;
use crate::Error;
use crate::body::Replay;
use crate::reqwest::{answer, outgoing_to};

/// The middleware after this one, and the client. Clones share the extensions of the logical request.
#[derive(Clone)]
pub(super) struct Through<'a> {
    next: Next<'a>,
    resent: &'a Resent,
    url: &'a Url,
    extensions: Arc<Mutex<Extensions>>,
}

impl<'a> Through<'a> {
    pub(super) fn new(next: Next<'a>, resent: &'a Resent, url: &'a Url, extensions: Extensions) -> Self {
        Self { next, resent, url, extensions: Arc::new(Mutex::new(extensions)) }
    }

    /// What the last attempt that ended left there.
    pub(super) fn into_extensions(self) -> Extensions {
        std::mem::take(&mut self.extensions.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<'a> Service<Request<Replay<reqwest::Body>>> for Through<'a> {
    type Response = Response<reqwest::Body>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send + 'a>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Replay<reqwest::Body>>) -> Self::Future {
        let Self { next, resent, url, extensions } = self.clone();
        Box::pin(async move {
            let asked = request.uri().clone();
            let clones = resent.mark(request.extensions_mut());
            let request = outgoing_to(url.clone(), request).map_err(|error| ours(error.into()))?;
            let clones = clones.filter(|_| request.body().is_none_or(|body| body.as_bytes().is_some()));
            let lock = || extensions.lock().unwrap_or_else(PoisonError::into_inner);
            // An attempt that is dropped leaves nothing behind.
            let mut own = lock().clone();
            let answered = next.run(request, &mut own).await;
            *lock() = own;
            let response = answered.map_err(ours)?;
            resent.answered(clones.as_ref(), response.status());
            Ok(answer(response, &asked))
        })
    }
}

/// An error from below, without a URL. One of ours stays what it is.
pub(super) fn ours(error: Theirs) -> Error {
    match error {
        Theirs::Middleware(any) => {
            any.downcast().unwrap_or_else(|any| Error::Client(Theirs::Middleware(any).into()))
        }
        Theirs::Reqwest(error) => Error::Client(Theirs::Reqwest(error.without_url()).into()),
    }
}

/// An error for the middleware above. One from below is again what it was.
pub(super) fn theirs(error: Error) -> Theirs {
    match error {
        Error::Client(inner) => match inner.downcast::<Theirs>() {
            Ok(theirs) => *theirs,
            Err(other) => Theirs::middleware(Error::Client(other)),
        },
        other => Theirs::middleware(other),
    }
}
