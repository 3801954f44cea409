use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::budget::scope::Scope;

pin_project! {
    /// The future of an [`InboundBudgetService`](super::InboundBudgetService): the handler, with its budget in scope
    /// while it is polled.
    pub struct InboundBudgetFuture<F> {
        #[pin]
        inner: F,
        scope: Scope,
    }
}

impl<F> InboundBudgetFuture<F> {
    pub(super) const fn new(inner: F, scope: Scope) -> Self {
        Self { inner, scope }
    }
}

impl<F> std::fmt::Debug for InboundBudgetFuture<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InboundBudgetFuture").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl<F: Future> Future for InboundBudgetFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _entered = this.scope.enter();
        this.inner.poll(cx)
    }
}
