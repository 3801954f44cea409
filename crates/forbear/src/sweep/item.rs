//! An item on its way through a sweep.

use forbear_core::gate::{GrantId, Priority};
use forbear_core::retry::{self, History};
use forbear_core::time::Monotonic;
use http::Request;

use super::outcome::Outcome;
use super::places::Line;
use super::watch::Of;
use crate::NoWait;
use crate::extensions::Turn;

/// An outcome, and whose it was.
pub(super) type Known<T, R> = (Outcome<T, R>, Of);

/// An item, and what it has been through.
pub(super) struct Item<T> {
    pub(super) item: T,
    /// Its place in the order in which items were given.
    pub(super) number: u64,
    pub(super) entered: Monotonic,
    pub(super) history: History,
    /// How often it was sent, and refused on the way.
    pub(super) refusals: u32,
    pub(super) not_before: Monotonic,
    pub(super) nature: Nature,
    /// Whose places it takes.
    pub(super) line: Line,
    /// Whose it is.
    pub(super) of: Of,
}

/// What matters of an item's request after it is gone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nature {
    pub(super) priority: Priority,
    /// Whether it may be sent again although it was carried out.
    pub(super) safe: bool,
    /// Whether who made it counts attempts, and sends again by itself.
    pub(super) declares: bool,
}

impl<T> Item<T> {
    pub(super) fn new(item: T, number: u64, now: Monotonic) -> Self {
        Self {
            item,
            number,
            entered: now,
            history: History::new(),
            refusals: 0,
            not_before: Monotonic::ORIGIN,
            nature: Nature { priority: Priority::Interactive, safe: false, declares: false },
            line: Line::default(),
            of: Of::default(),
        }
    }

    /// Comes to its end.
    pub(super) fn ends<R>(self, outcome: impl FnOnce(T) -> Outcome<T, R>) -> Known<T, R> {
        (outcome(self.item), self.of)
    }

    /// Whether its vendor answered it, if only to say no.
    pub(super) const fn was_sent(&self) -> bool {
        self.history.limited() > 0
    }

    /// Looks at its request, and makes it one that no layer parks.
    pub(super) fn takes<B>(&mut self, request: &mut Request<B>) {
        self.nature = Nature {
            priority: request.extensions().get().copied().unwrap_or_default(),
            safe: retry::is_safe_to_repeat(request.method(), request.headers()),
            declares: retry::declares_attempt(request.headers()),
        };
        request.extensions_mut().insert(NoWait);
    }

    /// Marks its request as one that comes back from a wait.
    pub(super) fn comes_back<B>(&self, request: &mut Request<B>, grant: Option<GrantId>) {
        let (entered, sent) = (self.entered, self.was_sent());
        request.extensions_mut().insert(Turn { entered, grant, sent });
    }
}
