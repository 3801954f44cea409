//! The loop of a sweep.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use forbear_core::budget::Budget as Limits;
use futures_util::stream::Stream;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tokio::task::coop;
use tower_service::Service;

use super::ending::Ended;
use super::outcome::Outcome;
use super::progress::Progress;
use super::request::IntoRequest;
use super::settings::Settings;
use super::state::{Moment, State};
use crate::body::BoxError;
use crate::budget::scope::{self, Scope};
use crate::clock::{self, Alarm};

pin_project! {
    /// The outcomes of a sweep: a [`Stream`], and [`Outcomes::next`] for who does not want to know about streams. Each is known
    /// for good. It moves on only while it is polled: who takes long over an outcome hands it to another task.
    ///
    /// **Cancellation.** Dropping it drops what is on its way and what is held back. Dropping the future of `next` loses nothing.
    #[must_use = "nothing is sent until it is polled"]
    pub struct Outcomes<S, I, F, Q>
    where
        S: Service<Request<Q::Body>>,
        I: Stream,
        Q: IntoRequest,
    {
        #[pin]
        items: I,
        make: F,
        made: PhantomData<fn() -> Q>,
        // In scope while it is polled, so that it bounds every item.
        scope: Scope,
        alarm: Alarm,
        state: State<S, I::Item, Q::Body>,
    }
}

impl<S, I, F, Q, RB> Outcomes<S, I, F, Q>
where
    S: Service<Request<Q::Body>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    I: Stream,
    F: FnMut(&I::Item) -> Q,
    Q: IntoRequest,
{
    pub(super) fn new(vendor: S, settings: Settings, items: I, make: F) -> Self {
        let now = clock::now();
        let own = Limits::new(settings.budget.map(|total| now.after(total)), None);
        // Also where another task polls it than the one that called.
        let scope = Scope::shared(now, own.and(scope::budget()));
        let state = State::new(vendor, settings);
        Self { items, make, made: PhantomData, scope, alarm: Alarm::new(), state }
    }

    /// The next outcome; `None` at the end.
    ///
    /// **Cancellation.** Nothing is lost: the next call goes on.
    pub async fn next(&mut self) -> Option<Outcome<I::Item, S::Response>>
    where
        I: Unpin,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Sends nothing more, as when the program is told to stop: what is held back is deferred, what is on its way comes to its
    /// end, and no further item is taken.
    pub fn stop(&mut self) {
        self.state.end(Ended::Stopped);
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.state.progress()
    }

    /// Whether all items were taken.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state.exhausted
    }
}

impl<S, I, F, Q, RB> Stream for Outcomes<S, I, F, Q>
where
    S: Service<Request<Q::Body>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
    I: Stream,
    F: FnMut(&I::Item) -> Q,
    Q: IntoRequest,
{
    type Item = Outcome<I::Item, S::Response>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let (state, make) = (this.state, this.make);
        let _entered = this.scope.enter();
        let span = state.watch.span();
        let _in_span = span.enter();
        let budget = scope::budget();
        loop {
            // Items that are deferred at once, and there may be no end of them, leave others their turn.
            let coop = ready!(coop::poll_proceed(cx));
            if let Some(outcome) = state.known() {
                coop.made_progress();
                return Poll::Ready(Some(outcome));
            }
            let at = Moment { now: clock::now(), budget };
            if state.land(at, cx) || state.look_at_the_clock(at) || state.call(make, at, cx) {
                coop.made_progress();
                continue;
            }
            let late = state.takes_late(this.items.size_hint());
            if late || state.takes_more() {
                match this.items.as_mut().poll_next(cx) {
                    Poll::Ready(Some(item)) if late => state.take_late(item),
                    Poll::Ready(Some(item)) => state.take(item, make, at),
                    Poll::Ready(None) => state.exhausted = true,
                    // It is not waited for.
                    Poll::Pending if late => state.abandon(),
                    Poll::Pending => return state.pending(this.alarm, at, cx),
                }
                coop.made_progress();
                continue;
            }
            if state.is_over() {
                return Poll::Ready(None);
            }
            return state.pending(this.alarm, at, cx);
        }
    }
}

impl<S, I, F, Q> fmt::Debug for Outcomes<S, I, F, Q>
where
    S: Service<Request<Q::Body>>,
    I: Stream,
    Q: IntoRequest,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcomes").field("scope", &self.scope).finish_non_exhaustive()
    }
}
