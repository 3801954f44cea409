use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tower_service::Service;

pin_project! {
    /// Makes a clone of a service ready, and calls that.
    #[project = OneshotProj]
    pub(super) enum Oneshot<S: Service<R>, R> {
        Waits { service: S, request: Option<R> },
        Called { #[pin] attempt: S::Future },
    }
}

impl<S: Service<R>, R> Oneshot<S, R> {
    pub(super) const fn new(service: S, request: R) -> Self {
        Self::Waits { service, request: Some(request) }
    }
}

impl<S: Service<R>, R> Future for Oneshot<S, R> {
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let attempt = match self.as_mut().project() {
                OneshotProj::Waits { service, request } => {
                    ready!(service.poll_ready(cx))?;
                    let Some(request) = request.take() else { return Poll::Pending };
                    service.call(request)
                }
                OneshotProj::Called { attempt } => return attempt.poll(cx),
            };
            self.set(Self::Called { attempt });
        }
    }
}
