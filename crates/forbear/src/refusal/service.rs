use std::fmt;
use std::marker::PhantomData;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::body::RefusalBody;
use super::errors::{Errors, Typed};
use super::future::RefusalResponseFuture;
use super::layer::Settings;

/// Answers a server's callers where a vendor is not called, or says no. See the [module](super).
pub struct RefusalResponseService<S, K = Typed> {
    inner: S,
    settings: Settings,
    kind: PhantomData<fn() -> K>,
}

impl<S, K> RefusalResponseService<S, K> {
    pub(super) const fn new(inner: S, settings: Settings) -> Self {
        Self { inner, settings, kind: PhantomData }
    }
}

impl<S: Clone, K> Clone for RefusalResponseService<S, K> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), self.settings)
    }
}

impl<S: fmt::Debug, K> fmt::Debug for RefusalResponseService<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusalResponseService")
            .field("inner", &self.inner)
            .field("settings", &self.settings)
            .finish()
    }
}

impl<S, K, B, RB> Service<Request<B>> for RefusalResponseService<S, K>
where
    S: Service<Request<B>, Response = Response<RB>>,
    K: Errors<S::Error>,
{
    type Response = Response<RefusalBody<RB>>;
    type Error = K::Left;
    type Future = RefusalResponseFuture<S::Future, K>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), K::Left>> {
        self.inner.poll_ready(cx).map_err(K::left)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        RefusalResponseFuture::new(self.inner.call(request), self.settings)
    }
}
