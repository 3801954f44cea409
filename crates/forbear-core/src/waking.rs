//! Wakers are somebody else's code: what one of them does is no business of the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Calls all `wakers`, and lets go of those that are `spent`. One that panics was told so by its own panic hook: the others are
/// called all the same, and whoever does this keeps what it was just given.
pub(crate) fn wake(wakers: Vec<Waker>, spent: Vec<Waker>) {
    for waker in wakers {
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
    for waker in spent {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(waker)));
    }
}
