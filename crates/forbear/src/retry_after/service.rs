use std::sync::Arc;
use std::task::{Context, Poll};

use forbear_core::families::FamiliesId;
use forbear_core::gate::RefusalCause;
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::future::RetryAfterFuture;
use super::layer::RetryAfterLayer;
use super::saved::Saved;
use super::target::Target;
use crate::body::{BoxError, Replay};
use crate::error::Cooling;
use crate::{Error, NoWait, beneath, clock, host};

/// Waits as vendors ask, within the budget, and sends again. See the [module](super).
#[derive(Debug, Clone)]
pub struct RetryAfterService<S> {
    inner: S,
    layer: RetryAfterLayer,
    /// The families of the gate in what was made ready last. That gate keeps the URL of what it sends.
    gate: Option<FamiliesId>,
}

impl<S> RetryAfterService<S> {
    pub(crate) const fn inner(&self) -> &S {
        &self.inner
    }

    pub(super) const fn new(inner: S, layer: RetryAfterLayer) -> Self {
        Self { inner, layer, gate: None }
    }
}

impl<S: Clone> RetryAfterService<S> {
    /// Gives up what the inner service holds while it is ready, such as a permit: nothing is sent now, and the request
    /// makes its own clone ready after the wait.
    fn unready(&mut self) {
        self.inner = self.inner.clone();
    }
}

impl<S, B, RB> Service<Request<B>> for RetryAfterService<S>
where
    S: Service<Request<Replay<B>>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    B: Body + Unpin,
    B::Error: Into<BoxError>,
    RB: Body,
{
    type Response = Response<RB>;
    type Error = Error;
    type Future = RetryAfterFuture<S, B, S::Future, RB>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let (ready, gate) = beneath::look(|| self.inner.poll_ready(cx));
        self.gate = gate;
        ready.map_err(Error::from_inner)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let deadlines = &*self.layer.deadlines;
        let id = deadlines.id();
        let limit = self.layer.replay_limit.filter(|_| request.extensions().get::<NoWait>().is_none());
        let key = || Target::of(request.uri(), request.headers(), request.extensions()).key(deadlines);
        let recorded = if deadlines.is_empty() { None } else { deadlines.get(key(), clock::now()) };
        let Some(limit) = limit else {
            if let Some(until) = recorded {
                let family = deadlines.family(key());
                if let (Some(families), Some(family)) = (self.gate, &family) {
                    families.count_refusal(family, RefusalCause::Cooling);
                }
                let error = refused(until, &request, family);
                self.unready();
                return RetryAfterFuture::failed(error, id);
            }
            let kept = self.gate.is_some() && request.uri().authority().is_some();
            let key = if kept { None } else { Some(key()) };
            return RetryAfterFuture::sent(self.inner.call(request.map(Replay::plain)), None, key, id);
        };
        let (head, body) = request.into_parts();
        let (body, tape) = Replay::record(body, limit);
        let saved = Box::new(Saved::new(self.inner.clone(), head.clone(), tape, self.gate));
        match recorded {
            Some(until) => {
                self.unready();
                RetryAfterFuture::recorded(until, saved, id)
            }
            None => {
                let attempt = self.inner.call(Request::from_parts(head, body));
                RetryAfterFuture::sent(attempt, Some(saved), None, id)
            }
        }
    }
}

/// A URL whose recorded deadline lies in the future, for a request that does not wait.
fn refused<B>(until: Monotonic, request: &Request<B>, family: Option<Arc<str>>) -> Error {
    let uri = request.uri();
    let host = || uri.host().or(host::of(uri, request.headers())).unwrap_or_default().into();
    Error::Cooling(Cooling::recorded(until, RedactedUrl::of(uri), family.unwrap_or_else(host)))
}
