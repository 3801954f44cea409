//! Futures that are dropped before they are over.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Polls `future` at most `polls` times, and drops it when the last of these polls leaves it pending. `None` where it
/// was dropped.
pub(crate) async fn cut<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        let Some(rest) = left.checked_sub(1) else { return Poll::Ready(None) };
        left = rest;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// The same, but it is dropped only when it was woken once more, instead of being polled.
pub(crate) async fn cut_when_woken<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        let Some(rest) = left.checked_sub(1) else { return Poll::Ready(None) };
        left = rest;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

/// One poll, with a waker that does nothing.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
