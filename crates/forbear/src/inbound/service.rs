use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use tower_service::Service;

use super::future::InboundBudgetFuture;
use super::layer::InboundBudgetLayer;
use crate::budget::scope::Scope;
use crate::clock;

/// Gives all outbound calls of a handler one budget. See the [module](super).
#[derive(Debug, Clone)]
pub struct InboundBudgetService<S> {
    inner: S,
    layer: Arc<InboundBudgetLayer>,
}

impl<S> InboundBudgetService<S> {
    pub(super) fn new(inner: S, layer: InboundBudgetLayer) -> Self {
        Self { inner, layer: Arc::new(layer) }
    }
}

impl<S, B> Service<Request<B>> for InboundBudgetService<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = InboundBudgetFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let now = clock::now();
        let budget = self.layer.budget(request.headers(), request.extensions(), now);
        let mut scope = Scope::shared(now, budget);
        let inner = {
            let _entered = scope.enter();
            self.inner.call(request)
        };
        InboundBudgetFuture::new(inner, scope)
    }
}
