//! The run of a refresh: one task that wakes when something is due, ends, or is told.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use forbear_core::store::{StoreError, StoreFault};
use forbear_core::time::Monotonic;

use super::Refresh;
use super::driver::Driver;
use crate::clock::{self, Alarm};

/// What a store is asked for, in an error.
const KEEPING: &str = "keep refresh work";
/// A store that takes longer is as one that is gone.
const WITHIN: Duration = Duration::from_secs(30);

impl Refresh {
    /// Refreshes what is demanded until `shutdown` is over: then nothing more begins, and what is in flight may end within
    /// the [grace](super::RefreshBuilder::grace). It is one task of its own, or a part of one:
    ///
    /// ```no_run
    /// # async fn example(refresh: forbear::Refresh, stop: tokio::sync::oneshot::Receiver<()>) {
    /// let running = tokio::spawn(async move { refresh.run(async { drop(stop.await) }).await });
    /// # let _ = running;
    /// # }
    /// ```
    ///
    /// A second run of one refresh at the same time ends at once, with an error event.
    ///
    /// **Cancellation.** Dropped, what is in flight is dropped too, and nothing is lost: the claims are given back by a task of this
    /// runtime, which ends with the [grace](super::RefreshBuilder::grace), or when it runs again in this process; and else they
    /// are over with their lease.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let Some(mut driver) = Driver::begin(Arc::clone(&self.0)) else {
            tracing::error!("this refresh runs already; run it once, and share the handle");
            return;
        };
        let mut shutdown = std::pin::pin!(shutdown);
        let mut stop =
            Stop { shutdown: Some(shutdown.as_mut()), grace: self.0.settings.grace, until: None, calls: 0 };
        driver.run(&mut stop).await;
    }
}

/// What a store that panics has answered.
pub(super) fn panicked() -> StoreError {
    StoreError::new(StoreFault::Unavailable, KEEPING).because("the store panicked")
}

/// The end of a run: asked for, and then not later than the grace allows.
pub(super) struct Stop<'a, F> {
    shutdown: Option<Pin<&'a mut F>>,
    grace: Duration,
    until: Option<Monotonic>,
    /// How many answers of a store were waited for.
    calls: usize,
}

impl<F: Future<Output = ()>> Stop<'_, F> {
    /// Whether it was asked for.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(shutdown) = &mut self.shutdown
            && shutdown.as_mut().poll(cx).is_ready()
        {
            self.shutdown = None;
            self.until = Some(clock::now().after(self.grace));
        }
        self.until.is_some()
    }

    pub(super) fn is_asked(&self) -> bool {
        self.until.is_some()
    }

    /// How many answers of a store were waited for.
    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    /// The end of the grace, once the end was asked for.
    pub(super) fn until(&self) -> Option<Monotonic> {
        self.until
    }

    /// What a store answers; `None` where the grace is over before.
    pub(super) async fn answered<T>(
        &mut self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<Result<T, StoreError>> {
        self.answered_within(WITHIN, answer).await
    }

    /// The same for what may take long.
    pub(super) async fn answered_within<T>(
        &mut self,
        most: Duration,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<Result<T, StoreError>> {
        self.calls = self.calls.wrapping_add(1);
        let (mut answer, mut alarm) = (std::pin::pin!(answer), Alarm::new());
        let (late, mut lateness) = (clock::now().after(most), Alarm::new());
        poll_fn(|cx| {
            // A store is somebody else's code: where it panics, it did not answer.
            match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx))) {
                Ok(Poll::Ready(answer)) => return Poll::Ready(Some(answer)),
                Ok(Poll::Pending) => {}
                Err(_) => return Poll::Ready(Some(Err(panicked()))),
            }
            if lateness.poll(late, cx).is_ready() {
                let late = StoreError::new(StoreFault::TimedOut, KEEPING);
                return Poll::Ready(Some(Err(late)));
            }
            self.poll(cx);
            match self.until {
                Some(until) => alarm.poll(until, cx).map(|()| None),
                None => Poll::Pending,
            }
        })
        .await
    }
}
