//! A worker of apalis that calls a vendor through the stack. A job that is refused, or whose wait does not fit, is deferred for as long
//! as the vendor asked, and that costs none of its attempts; a fault costs one, and the worker's own retry deals with it.

mod deferrals;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::{
    Attempt, BoxDynError, Data, RetryAfterError, RetryPolicy, TaskSink, WorkerBuilder, WorkerBuilderExt,
};
use apalis_core::backend::dequeue::VecDequeBackend;
use bytes::Bytes;
use forbear::{Error, Families, Family, Signal, Vendor};
use forbear_mock::{MockService, MockVendor, reply};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::BoxError;
pub use deferrals::{Deferrable, Deferrals, DeferralsService};

/// What a worker waits within a job: a short cool-down, or its place in a recovery. What takes longer is the queue's to wait.
const BUDGET: Duration = Duration::from_millis(500);
/// Who is refused for so long on end has failed.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A job: what to fetch, and what it has been through.
#[derive(Debug, Clone)]
struct Job {
    url: String,
    deferrals: u32,
    since: Option<Instant>,
}

impl Deferrable for Job {
    fn deferred(&mut self, now: Instant) -> Instant {
        self.deferrals += 1;
        *self.since.get_or_insert(now)
    }
}

/// A job that was done, and what it took.
#[derive(Debug)]
pub struct Done {
    /// What it fetched.
    pub path: String,
    /// Its attempts, as apalis counts them.
    pub attempts: usize,
    /// How often it was deferred.
    pub deferrals: u32,
    /// When it was done.
    pub at: Duration,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, attempts, deferrals, at } = self;
        write!(f, "{path:<8} {attempts} attempts, {deferrals} deferrals, done after {:.1}s", at.as_secs_f64())
    }
}

/// What a worker's jobs share.
#[derive(Clone)]
struct Shared {
    vendor: Vendor<MockService>,
    done: mpsc::UnboundedSender<Done>,
    start: Instant,
}

/// Fetches it. The one place where forbear's words become apalis'.
async fn fetch(job: Job, attempt: Attempt, shared: Data<Arc<Shared>>) -> Result<(), BoxDynError> {
    let request = Request::get(&job.url).body(Empty::<Bytes>::new())?;
    let path = request.uri().path().to_owned();
    match shared.vendor.send(request).await {
        Ok(response) => match later(&response) {
            Some(wait) => Err(Box::new(RetryAfterError::new("the vendor says 429", wait))),
            None if response.status() == StatusCode::OK => {
                let at = shared.start.elapsed();
                shared.done.send(Done { path, attempts: attempt.current(), deferrals: job.deferrals, at })?;
                Ok(())
            }
            None => Err(response.status().to_string().into()),
        },
        // A refusal, or a budget that the next wait does not fit: the vendor said when, or this program knows.
        Err(error) => match error.retry_in().filter(|_| is_deferral(&error)) {
            Some(wait) => Err(Box::new(RetryAfterError::new(error, wait))),
            None => Err(Box::new(error)),
        },
    }
}

/// When a limited answer's vendor is called again.
fn later<B>(response: &Response<B>) -> Option<Duration> {
    response.extensions().get::<Signal>()?.retry_in()
}

/// Whether it is for want of time alone that it was not done.
fn is_deferral(error: &Error) -> bool {
    error.is_refusal() || matches!(error, Error::BudgetExhausted(_))
}

/// Only faults: what is deferred is not sent again at once.
fn is_fault(error: &BoxDynError) -> bool {
    !error.is::<RetryAfterError>()
}

/// Plays it, in about three seconds.
///
/// # Errors
/// Where the worker cannot be run.
pub async fn run() -> Result<Vec<Done>, BoxError> {
    let mock = MockVendor::in_process()
        .route("/quotes", [reply(429).retry_after(1).times(2), reply(200)])
        .route("/news", [reply(500), reply(200)]);
    play(&mock, &["/news", "/quotes", "/chart"]).await
}

/// Runs a worker until a job for each of `paths` is done.
///
/// # Errors
/// Where the worker cannot be run.
pub async fn play(mock: &MockVendor, paths: &[&str]) -> Result<Vec<Done>, BoxError> {
    let families = Families::builder().family(Family::new("vendor").host(mock.authority())).build()?;
    let vendor = forbear::stack(&families).budget(BUDGET).service(mock.service());
    let mut queue = VecDequeBackend::new();
    for path in paths {
        queue.push(Job { url: mock.url(path), deferrals: 0, since: None }).await?;
    }

    let (done, mut told) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared { vendor, done, start: Instant::now() });
    let worker = WorkerBuilder::new("quotes")
        .backend(queue.clone())
        .concurrency(4)
        .data(shared)
        // Outside the retry, which leaves to it what is no fault.
        .layer(Deferrals::new(queue, LONGEST))
        .retry(RetryPolicy::retries(2).retry_if(is_fault))
        .build(fetch);
    let count = paths.len();
    let (all, list) = tokio::sync::oneshot::channel();
    let told = async move {
        let mut rows = Vec::new();
        while rows.len() < count {
            rows.extend(told.recv().await);
        }
        let _ = all.send(rows);
        Ok::<_, std::io::Error>(())
    };
    worker.run_until(told).await?;
    Ok(list.await?)
}
