//! How a sweep is run.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use forbear_core::families::Snapshot;
use futures_util::stream::{self, Iter, Stream};
use http::{Request, Response};
use tower_service::Service;

use super::bodies::BodiesRead;
use super::outcomes::Outcomes;
use super::progress::Progress;
use super::report::Report;
use super::request::IntoRequest;
use crate::Families;
use crate::body::BoxError;

/// How many items go at once where nobody says otherwise.
const CONCURRENCY: usize = 8;
/// How many items are held back where nobody says otherwise.
const HELD: usize = 16_384;

/// Sends many items over one service. See the [module](super).
#[derive(Debug, Clone)]
#[must_use = "a sweep does nothing until it is `run`, or its `stream` is polled"]
pub struct Sweep<S> {
    vendor: S,
    settings: Settings,
}

type Tell = dyn Fn(&Progress) + Send + Sync;

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) concurrency: usize,
    pub(super) budget: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) waits: bool,
    pub(super) most_held: usize,
    pub(super) families: Option<Snapshot>,
    progress: Option<Arc<Tell>>,
}

impl<S> Sweep<S> {
    /// A sweep over `vendor`: a stack, or any other service of requests. Eight items go at once, and what is limited is waited for
    /// for at most 60 s an item; set a [`budget`](Self::budget).
    pub const fn new(vendor: S) -> Self {
        let settings = Settings {
            concurrency: CONCURRENCY,
            budget: None,
            grace: Duration::ZERO,
            waits: true,
            most_held: HELD,
            families: None,
            progress: None,
        };
        Self { vendor, settings }
    }

    /// At most so many items are on their way at once (8). Zero counts as one. Once items of several families came up, none of them has
    /// more than half of these places while others want them.
    pub const fn concurrency(mut self, most: usize) -> Self {
        self.settings.concurrency = if most == 0 { 1 } else { most };
        self
    }

    /// The total time of each run of the sweep, counted from the call of [`run`](Self::run) or [`stream`](Self::stream) (none).
    /// Budgets around it hold besides: the earliest deadline wins. It bounds every wait and every item; what the layers of the
    /// service have as a budget bounds each single send.
    pub const fn budget(mut self, total: Duration) -> Self {
        self.settings.budget = Some(total);
        self
    }

    /// How much longer what is on its way at the end of the budget may take (0 s). Nothing is sent in that time. A stack with a
    /// [grace](crate::BudgetLayer::grace) of its own needs the same here.
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// Waits for nothing: what is limited or refused is reported as deferred at once, even if its time would come within the
    /// budget.
    pub const fn without_waiting(mut self) -> Self {
        self.settings.waits = false;
        self
    }

    /// Holds back at most so many items whose time comes within the budget, or whose family has its half of the places (16,384). With
    /// so many no further item is taken until one of them is sent. Zero counts as one.
    pub const fn hold(mut self, most: usize) -> Self {
        self.settings.most_held = if most == 0 { 1 } else { most };
        self
    }

    /// Reads the body of each answer, as a part of its item: up to so many bytes, a longer one is a failure ([`TooLong`](super::TooLong)).
    /// Without it bodies are handed over unread, and each keeps its connection, and its place where its family is
    /// [paced](crate::pacing) by `in_flight`, until somebody reads or drops it.
    pub fn read_bodies(self, limit: usize) -> Sweep<BodiesRead<S>> {
        Sweep { vendor: BodiesRead::new(self.vendor, limit), settings: self.settings }
    }

    /// The families of the service. Needed only where a buffer, or anything else that passes requests to another task, stands
    /// around its gate: otherwise the sweep finds them by itself.
    pub fn families(mut self, families: &Families) -> Self {
        self.settings.families = Some(families.0.snapshot());
        self
    }

    /// Calls `progress` after each outcome, before that is handed over; on the task that runs the sweep, so it should be quick. A
    /// panic in it is logged and goes no further.
    pub fn progress(mut self, progress: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.settings.progress = Some(Arc::new(progress));
        self
    }
}

impl Settings {
    pub(super) fn tell(&self, progress: &Progress) {
        if let Some(tell) = &self.progress
            && catch_unwind(AssertUnwindSafe(|| tell(progress))).is_err()
        {
            tracing::error!("the progress callback of a sweep panicked");
        }
    }
}

impl<S: Clone> Sweep<S> {
    /// Sends each of `items` as the request that `request` makes of it, and reports when all are done, deferred or failed.
    ///
    /// The report keeps every answer: use [`read_bodies`](Self::read_bodies) where answers have bodies. `request` is called once
    /// for each time that an item comes up, on the task that runs the sweep: one that is slow holds up its sweep.
    ///
    /// **Cancellation.** Dropping the future drops its report. To keep what was done, use [`run_into`](Self::run_into) or
    /// [`stream`](Self::stream).
    pub async fn run<I, F, Q, RB>(&self, items: I, request: F) -> Report<I::Item, S::Response>
    where
        I: IntoIterator,
        F: FnMut(&I::Item) -> Q,
        Q: IntoRequest,
        S: Service<Request<Q::Body>, Response = Response<RB>>,
        S::Error: Into<BoxError>,
    {
        let mut report = Report::new();
        self.run_into(&mut report, items, request).await;
        report
    }

    /// The same into a report of the caller's, each outcome as soon as it is known.
    ///
    /// **Cancellation.** The report keeps all that was done until then. What was on its way or held back is in no list.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use forbear::{Families, Sweep, sweep::Report};
    /// # use forbear_mock::{MockVendor, reply};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// # let mock = MockVendor::in_process().script([reply(200).times(3), reply(200).delay(Duration::from_secs(60))]);
    /// # let vendor = forbear::stack(&Families::builder().build()?).service(mock.service());
    /// # let get = |path: &&str| http::Request::get(mock.url(path)).body(http_body_util::Empty::<bytes::Bytes>::new());
    /// let mut report = Report::new();
    /// let sweep = Sweep::new(vendor).concurrency(1);
    /// let run = sweep.run_into(&mut report, ["/a", "/b", "/c", "/hangs", "/d"], get);
    /// if tokio::time::timeout(Duration::from_secs(5), run).await.is_err() {
    ///     assert_eq!((report.done().len(), report.is_complete()), (3, false));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run_into<I, F, Q, RB>(&self, report: &mut Report<I::Item, S::Response>, items: I, request: F)
    where
        I: IntoIterator,
        F: FnMut(&I::Item) -> Q,
        Q: IntoRequest,
        S: Service<Request<Q::Body>, Response = Response<RB>>,
        S::Error: Into<BoxError>,
    {
        let mut outcomes = self.stream(items, request);
        report.completes(false);
        while let Some(outcome) = outcomes.next().await {
            report.add(outcome);
        }
        report.completes(outcomes.is_complete());
    }

    /// The outcomes, each as soon as it is known: a [`Stream`]. Nothing is sent until it is polled.
    pub fn stream<I, F, Q, RB>(&self, items: I, request: F) -> Outcomes<S, Iter<I::IntoIter>, F, Q>
    where
        I: IntoIterator,
        F: FnMut(&I::Item) -> Q,
        Q: IntoRequest,
        S: Service<Request<Q::Body>, Response = Response<RB>>,
        S::Error: Into<BoxError>,
    {
        self.stream_from(stream::iter(items), request)
    }

    /// The same for items that come one after another, such as those of a channel.
    pub fn stream_from<I, F, Q, RB>(&self, items: I, request: F) -> Outcomes<S, I, F, Q>
    where
        I: Stream,
        F: FnMut(&I::Item) -> Q,
        Q: IntoRequest,
        S: Service<Request<Q::Body>, Response = Response<RB>>,
        S::Error: Into<BoxError>,
    {
        Outcomes::new(self.vendor.clone(), self.settings.clone(), items, request)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("concurrency", &self.concurrency)
            .field("budget", &self.budget)
            .field("grace", &self.grace)
            .field("waits", &self.waits)
            .field("hold", &self.most_held)
            .finish_non_exhaustive()
    }
}
