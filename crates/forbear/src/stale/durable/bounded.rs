//! What a store does must neither take for ever nor bring down who asks for it.

use std::future::Future;
use std::time::Duration;

use forbear_core::store::{StoreError, StoreFault};
use tokio::task::JoinError;

/// What a store answers, within so long. A panic of its is an error.
pub(super) async fn bounded<T: Send + 'static>(
    longest: Duration,
    doing: &'static str,
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let task = tokio::spawn(work);
    let abort = Abort(task.abort_handle());
    match tokio::time::timeout(longest, task).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Err(ended(&error, doing)),
        Err(_) => {
            drop(abort);
            Err(StoreError::new(StoreFault::TimedOut, doing))
        }
    }
}

/// Nobody waits for it any more.
struct Abort(tokio::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(super) fn ended(error: &JoinError, doing: &'static str) -> StoreError {
    let why = if error.is_panic() { "the store panicked" } else { "its runtime ended" };
    StoreError::new(StoreFault::Unavailable, doing).because(why)
}
