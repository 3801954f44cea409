//! The task that writes. It begins with a change, and ends when there are no more.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use forbear_core::store::{PurgeResponses, StoreError, StoredResponse};
use forbear_core::work::Stamp;
use tokio::runtime::Handle;

use super::queue::Batch;
use super::{Durable, bounded};

/// A batch that takes longer is tried again.
const LONGEST: Duration = Duration::from_secs(10);

impl Durable {
    /// Has what waits written; nothing happens outside of a runtime, until somebody asks within one.
    pub(super) fn write(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut state = self.lock();
        if state.is_writing || state.queue.is_empty() {
            return;
        }
        state.is_writing = true;
        drop(state);
        let writing = Writing { durable: Arc::clone(self), done: false };
        runtime.spawn(writing.run());
    }

    /// Returns once all that was to be written is, with an error as soon as something was not. It is tried now, however often it failed.
    pub(in crate::stale) async fn written(self: &Arc<Self>) -> Result<(), StoreError> {
        let failures = self.lock().failures;
        self.hurry.notify_waiters();
        loop {
            let progress = self.progress.notified();
            self.write();
            {
                let state = self.lock();
                if state.queue.is_empty() {
                    return Ok(());
                }
                if let Some(error) = state.last.as_ref().filter(|_| state.failures != failures) {
                    return Err(error.clone());
                }
            }
            progress.await;
        }
    }

    /// Returns once the batch has ended that came after so many, if there was one.
    pub(super) async fn until_ended(&self, batch: Option<u64>) {
        let Some(batch) = batch else { return };
        loop {
            let progress = self.progress.notified();
            if self.lock().ended > batch {
                return;
            }
            progress.await;
        }
    }

    async fn carry_out(&self, batch: Batch) -> Result<(), StoreError> {
        let Batch { clears, removed, puts } = batch;
        let (store, now) = (Arc::clone(&self.store), self.wall.now());
        let aged = |(response, at): (StoredResponse, SystemTime)| StoredResponse {
            age: whole(now.duration_since(at).unwrap_or_default()),
            ..response
        };
        let puts: Vec<_> = puts.into_iter().map(aged).collect();
        let all = async move {
            if clears {
                let _ = store.purge(PurgeResponses::All).await?;
            }
            if !removed.is_empty() {
                store.remove(removed).await?;
            }
            if !puts.is_empty() {
                store.put(puts, Stamp::of(now)).await?;
            }
            Ok(())
        };
        bounded(LONGEST, "keep responses", all).await
    }

    /// Notes how it went, and says how long to wait for the next.
    fn carried_out(&self, done: Result<(), StoreError>) -> Duration {
        let mut state = self.lock();
        state.ended += 1;
        match done {
            Ok(()) => {
                state.queue.written();
                state.told_of_lost = state.told_of_lost && !state.queue.is_empty();
                drop(state);
                self.writes.worked(self.store.name());
                Duration::ZERO
            }
            Err(error) => {
                state.queue.failed();
                state.failures += 1;
                state.last = Some(error.clone());
                drop(state);
                self.writes.failed(self.store.name(), &error)
            }
        }
    }
}

/// The one task that writes for a store.
struct Writing {
    durable: Arc<Durable>,
    /// There was no more to write.
    done: bool,
}

impl Writing {
    /// What to write next. Where that is nothing, whoever comes begins another task.
    fn next(&mut self) -> Option<Batch> {
        let mut state = self.durable.lock();
        let next = state.queue.take();
        if next.is_none() {
            state.is_writing = false;
            self.done = true;
        }
        next
    }

    async fn run(mut self) {
        let mut is_last = false;
        while let Some(batch) = self.next() {
            let durable = &self.durable;
            let done = durable.carry_out(batch).await;
            let pause = durable.carried_out(done);
            let hurry = durable.hurry.notified();
            durable.progress.notify_waiters();
            if pause.is_zero() {
                continue;
            }
            if is_last {
                return;
            }
            let _ = tokio::time::timeout(pause, hurry).await;
            // Nobody puts anything there any more: it is tried once more, and not for ever.
            is_last = Arc::strong_count(durable) == 1;
        }
    }
}

impl Drop for Writing {
    /// Where its runtime ends before it does, whoever comes next begins another.
    fn drop(&mut self) {
        if !self.done {
            let mut state = self.durable.lock();
            state.is_writing = false;
            state.ended += 1;
            state.queue.failed();
            drop(state);
            self.durable.progress.notify_waiters();
        }
    }
}

/// In whole milliseconds, as a store counts; rounded up, since nothing gets younger by the way.
fn whole(age: Duration) -> Duration {
    let millis = age.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}
