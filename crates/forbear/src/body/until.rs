//! A deadline that costs a timer only when something has to be waited for.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::clock;

pub(super) struct Until {
    deadline: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Until {
    pub(super) const fn new(deadline: Instant) -> Self {
        Self { deadline, sleep: None }
    }

    /// Ready once the deadline has passed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        clock::poll_timer(sleep.as_mut(), cx)
    }
}
