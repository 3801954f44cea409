//! A layer for workers: a job that is refused goes back into the queue, for when its vendor is called again.
//!
//! In apalis every run counts as an attempt, one that ends in a `RetryAfterError` too. A job that meets a long cool-down would
//! use up its attempts although nothing was ever wrong with it, and fail. Here the attempt is taken back, and the job has an age
//! instead: who is refused for a day on end has failed.

use std::task::{Context, Poll};
use std::time::Duration;

use apalis::prelude::{AbortError, BoxDynError, RetryAfterError, Task, TaskSink};
use apalis_core::backend::dequeue::VecDequeBackend;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tower::{Layer, Service};

/// What a job carries so that it can be deferred.
pub trait Deferrable: Clone + Send + Sync + Unpin + 'static {
    /// Counts a deferral, the first of them at `now`; since when it has been deferred.
    fn deferred(&mut self, now: Instant) -> Instant;
}

/// Puts jobs that are refused back into the queue.
#[derive(Debug, Clone)]
pub struct Deferrals<J> {
    queue: VecDequeBackend<J>,
    longest: Duration,
}

/// The service that [`Deferrals`] makes.
#[derive(Debug, Clone)]
pub struct DeferralsService<S, J> {
    inner: S,
    deferrals: Deferrals<J>,
}

impl<J> Deferrals<J> {
    /// Jobs go back into `queue`, for at most `longest`.
    #[must_use]
    pub const fn new(queue: VecDequeBackend<J>, longest: Duration) -> Self {
        Self { queue, longest }
    }
}

impl<S, J: Clone> Layer<S> for Deferrals<J> {
    type Service = DeferralsService<S, J>;

    fn layer(&self, inner: S) -> Self::Service {
        DeferralsService { inner, deferrals: self.clone() }
    }
}

impl<S, J> Service<Task<J>> for DeferralsService<S, J>
where
    S: Service<Task<J>, Response = (), Error = BoxDynError>,
    S::Future: Send + 'static,
    J: Deferrable,
{
    type Response = ();
    type Error = BoxDynError;
    type Future = BoxFuture<'static, Result<(), BoxDynError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxDynError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, task: Task<J>) -> Self::Future {
        // It shares the count of attempts with the one that runs.
        let again = task.clone();
        let run = self.inner.call(task);
        let deferrals = self.deferrals.clone();
        Box::pin(async move {
            match run.await {
                Err(error) => match error.downcast::<RetryAfterError>() {
                    Ok(later) => deferrals.put_back(again, *later),
                    Err(fault) => Err(fault),
                },
                Ok(()) => Ok(()),
            }
        })
    }
}

impl<J: Deferrable> Deferrals<J> {
    fn put_back(mut self, task: Task<J>, later: RetryAfterError) -> Result<(), BoxDynError> {
        let (attempt, wait, now) = (task.attempt().saturating_sub(1), later.get_duration(), Instant::now());
        let mut task = task.into_builder().attempt(attempt).build();
        if now.duration_since(task.args.deferred(now)) >= self.longest {
            return Err(Box::new(AbortError::new(later)));
        }
        // A queue on disk takes it at once, with `run_after(wait)`; the one in memory knows no later.
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            let _ = self.queue.push_task(task).await;
        });
        Ok(())
    }
}
