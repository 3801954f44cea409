use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::scope::Scope;
use crate::body::BoxError;
use crate::error::{BudgetExhausted, Spent};
use crate::{Error, clock};

pin_project! {
    /// The future of a [`BudgetService`](super::BudgetService). Dropping it drops the attempt. Polled
    /// again after it ended, it stays pending.
    pub struct BudgetFuture<F> {
        // `None` once it ended: what it held is let go with the answer, not with this future.
        #[pin]
        inner: Option<F>,
        // Armed at the first pending poll.
        #[pin]
        timer: Option<Sleep>,
        scope: Scope,
        grace: Duration,
    }
}

impl<F> BudgetFuture<F> {
    #[inline]
    pub(crate) const fn new(inner: F, scope: Scope, grace: Duration) -> Self {
        Self { inner: Some(inner), timer: None, scope, grace }
    }
}

impl<F> std::fmt::Debug for BudgetFuture<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BudgetFuture").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl<F, T, E> Future for BudgetFuture<F>
where
    F: Future<Output = Result<T, E>>,
    E: Into<BoxError>,
{
    type Output = Result<T, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let polled = {
            let _entered = this.scope.enter();
            let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Pending };
            inner.poll(cx)
        };
        if let Poll::Ready(answer) = polled {
            this.inner.set(None);
            return Poll::Ready(answer.map_err(Error::from_inner));
        }
        let Some(deadline) = this.scope.deadline() else { return Poll::Pending };
        if this.timer.is_none() {
            let at = clock::to_instant(deadline.after(*this.grace));
            this.timer.set(Some(tokio::time::sleep_until(at)));
        }
        if let Some(timer) = this.timer.as_mut().as_pin_mut() {
            ready!(clock::poll_timer(timer, cx));
        }
        this.inner.set(None);
        let spent = clock::now().since(this.scope.entered());
        // Whatever stands below has sent at least the attempt that is dropped now, even if it does not count.
        let attempts = this.scope.attempts().max(1);
        let last_signal = this.scope.take_last_signal();
        Poll::Ready(Err(Error::BudgetExhausted(BudgetExhausted::new(
            Spent::Time,
            spent,
            attempts,
            last_signal,
        ))))
    }
}
