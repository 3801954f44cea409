use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{HeaderValue, Response};
use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::body::RefusalBody;
use super::errors::Errors;
use super::layer::Settings;
use super::problem::{REFUSAL, Told};
use super::told::Refusal;
use crate::budget::scope;
use crate::error::{BudgetExhausted, Spent};
use crate::{Error, clock};

pin_project! {
    /// The future of a [`RefusalResponseService`](super::RefusalResponseService). Polled again after it ended, it stays
    /// pending.
    pub struct RefusalResponseFuture<F, K> {
        // `None` once it ended.
        #[pin]
        inner: Option<F>,
        // Armed at the first pending poll, where handlers are ended.
        #[pin]
        timer: Option<Sleep>,
        settings: Settings,
        kind: PhantomData<fn() -> K>,
    }
}

impl<F, K> RefusalResponseFuture<F, K> {
    pub(super) const fn new(inner: F, settings: Settings) -> Self {
        Self { inner: Some(inner), timer: None, settings, kind: PhantomData }
    }
}

impl<F, K> fmt::Debug for RefusalResponseFuture<F, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusalResponseFuture").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<F, K, RB, E> Future for RefusalResponseFuture<F, K>
where
    F: Future<Output = Result<Response<RB>, E>>,
    K: Errors<E>,
{
    type Output = Result<Response<RefusalBody<RB>>, K::Left>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Pending };
        if let Poll::Ready(answer) = inner.poll(cx) {
            this.inner.set(None);
            return Poll::Ready(match answer {
                Ok(response) => Ok(this.settings.answered(response)),
                Err(error) => K::look(error).map(|refusal| refusal.response()),
            });
        }
        if !this.settings.ends_handlers {
            return Poll::Pending;
        }
        if this.timer.is_none() {
            let Some(deadline) = scope::budget().deadline() else { return Poll::Pending };
            this.timer.set(Some(tokio::time::sleep_until(clock::to_instant(deadline))));
        }
        if let Some(timer) = this.timer.as_mut().as_pin_mut() {
            ready!(clock::poll_timer(timer, cx));
        }
        this.inner.set(None);
        Poll::Ready(Ok(Refusal::of(&over()).response()))
    }
}

/// The deadline of the budget in scope passed.
fn over() -> Error {
    let now = clock::now();
    let (entered, attempts) = scope::inbound().unwrap_or((now, 0));
    Error::BudgetExhausted(BudgetExhausted::new(
        Spent::Time,
        now.since(entered),
        attempts,
        scope::last_signal(),
    ))
}

impl Settings {
    /// A handler's answer, which may be a vendor's.
    fn answered<RB>(self, mut response: Response<RB>) -> Response<RefusalBody<RB>> {
        if response.extensions().get::<Told>().is_some() {
            return response.map(RefusalBody::handler);
        }
        // Whoever said it, it was said of somebody else's calls.
        response.headers_mut().remove(REFUSAL);
        match Refusal::limited(&response) {
            Some(refusal) if !self.pass_on_limited => return refusal.response(),
            Some(_) => {
                response.headers_mut().insert(REFUSAL, HeaderValue::from_static("vendor"));
            }
            None => {}
        }
        response.map(RefusalBody::handler)
    }
}
