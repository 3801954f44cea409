//! A worker of apalis that calls a vendor through the stack. A job that is refused, or whose wait does not fit, is deferred for as long
//! as the vendor asked, and that costs none of its attempts; a fault costs one, and the worker's own retry deals with it.

mod deferrals;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::{
    Attempt, BoxDynError, Data, Event, EventListenerExt, RetryAfterError, RetryPolicy, TaskSink,
    WorkerBuilder, WorkerBuilderExt,
};
use apalis_core::backend::dequeue::VecDequeBackend;
use bytes::Bytes;
use forbear::{Error, Families, Family, Signal, Vendor};
use forbear_mock::{MockService, MockVendor, reply};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::BoxError;
pub use deferrals::{Deferrable, Deferrals, DeferralsService};

/// What a worker waits within a job: a short cool-down, or its place in a recovery. What takes longer is the queue's to wait.
const BUDGET: Duration = Duration::from_millis(500);
/// When a job is looked at again where nobody knows when its vendor is called again.
const UNKNOWN: Duration = Duration::from_secs(1);
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
    told: mpsc::UnboundedSender<Result<Done, String>>,
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
                let (attempts, deferrals) = (attempt.current(), job.deferrals);
                shared.told.send(Ok(Done { path, attempts, deferrals, at }))?;
                Ok(())
            }
            None => Err(response.status().to_string().into()),
        },
        Err(error) => match deferred_for(&error) {
            Some(wait) => Err(Box::new(RetryAfterError::new(error, wait))),
            None => Err(Box::new(error)),
        },
    }
}

/// When a limited answer's vendor is called again.
fn later<B>(response: &Response<B>) -> Option<Duration> {
    response.extensions().get::<Signal>()?.retry_in()
}

/// For how long a job is deferred; `None` where its vendor is not to blame, or waiting does not help.
fn deferred_for(error: &Error) -> Option<Duration> {
    match error {
        // Paused, say: nobody knows until when.
        Error::Cooling(_) => Some(error.retry_in().unwrap_or(UNKNOWN)),
        // Without a time it never goes: it costs more than is ever let through.
        Error::Pacing(_) => error.retry_in(),
        // The next wait did not fit, or its turn did not come in time.
        Error::BudgetExhausted(spent) if spent.attempts() == 0 => Some(error.retry_in().unwrap_or(UNKNOWN)),
        Error::BudgetExhausted(_) => error.retry_in(),
        _ => None,
    }
}

/// Only faults: what is deferred is not sent again at once.
fn is_fault(error: &BoxDynError) -> bool {
    !error.is::<RetryAfterError>()
}

/// Plays it, in about three seconds.
///
/// # Errors
/// Where the worker cannot be run, or a job fails.
pub async fn run() -> Result<Vec<Done>, BoxError> {
    let mock = MockVendor::in_process()
        .script(reply(200))
        .route("/quotes", [reply(429).retry_after(1).times(2), reply(200)])
        .route("/news", [reply(500), reply(200)]);
    play(&mock, &["/news", "/quotes", "/chart"]).await
}

/// Runs a worker until a job for each of `paths` is done.
///
/// # Errors
/// Where the worker cannot be run, or a job fails.
pub async fn play(mock: &MockVendor, paths: &[&str]) -> Result<Vec<Done>, BoxError> {
    let families = Families::builder().family(Family::new("vendor").host(mock.authority())).build()?;
    let vendor = forbear::stack(&families).budget(BUDGET).service(mock.service());
    let mut queue = VecDequeBackend::new();
    for path in paths {
        queue.push(Job { url: mock.url(path), deferrals: 0, since: None }).await?;
    }

    let (told, mut ended) = mpsc::unbounded_channel();
    let failed = told.clone();
    let shared = Arc::new(Shared { vendor, told, start: Instant::now() });
    let worker = WorkerBuilder::new("quotes")
        .backend(queue.clone())
        .concurrency(4)
        .data(shared)
        // Outside the retry, which leaves to it what is no fault.
        .layer(Deferrals::new(queue, LONGEST))
        .retry(RetryPolicy::retries(2).retry_if(is_fault))
        .on_event(move |_, event| {
            if let Event::Error(error) = event {
                let _ = failed.send(Err(error.to_string()));
            }
        })
        .build(fetch);
    let (all, list) = oneshot::channel();
    let count = paths.len();
    let every_job = async move {
        let mut rows = Vec::new();
        while rows.len() < count {
            match ended.recv().await {
                Some(Ok(done)) => rows.push(done),
                Some(Err(failed)) => return Err(io::Error::other(format!("a job failed: {failed}"))),
                None => break,
            }
        }
        let _ = all.send(rows);
        Ok(())
    };
    worker.run_until(every_job).await?;
    Ok(list.await?)
}
