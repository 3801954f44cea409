//! How a sweep comes to its end.

use std::pin::Pin;
use std::task::{Context, Poll};

use forbear_core::time::Monotonic;
use http::{Request, Response};
use tower_service::Service;

use super::flight::Flight;
use super::item::{Item, Known};
use super::outcome::Outcome;
use super::state::{Moment, State};
use super::watch::Of;
use super::why::Why;
use crate::Error;
use crate::body::BoxError;
use crate::clock::Alarm;
use crate::error::{BudgetExhausted, Spent};

/// The budget ended.
pub(super) const DEADLINE: &str = "deadline";
/// Its caller wants no more.
pub(super) const STOPPED: &str = "stopped";

/// Why nothing more is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The budget is over; what the items know of their number is still taken, to be reported.
    Late,
    /// No further item is taken.
    Stopped,
}

impl<S, T, B, RB> State<S, T, B>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone,
    S::Error: Into<BoxError>,
{
    /// Whether nothing is left to be done.
    pub(super) fn is_over(&self) -> bool {
        let taken = self.exhausted || self.ended.is_some();
        taken && self.flights.is_empty() && self.held() == 0 && self.ready.is_empty()
    }

    /// Ends what the budget ends; false where that is nothing.
    pub(super) fn look_at_the_clock(&mut self, at: Moment) -> bool {
        let Some(deadline) = at.budget.deadline().filter(|deadline| *deadline <= at.now) else {
            return false;
        };
        if self.ended.is_none() {
            self.end(Ended::Late);
            return true;
        }
        if self.flights.is_empty() || deadline.after(self.settings.grace) > at.now {
            return false;
        }
        self.cut(at.now);
        true
    }

    /// Sends nothing more: what is held back is deferred.
    pub(super) fn end(&mut self, ended: Ended) {
        if self.ended.is_none() {
            self.ended = Some(ended);
            self.ready.extend(self.holds.take_all().map(|(item, why)| {
                let why = if ended == Ended::Stopped { why.because(STOPPED) } else { why };
                given_up(item, why)
            }));
            let why = Why::ended(if ended == Ended::Stopped { STOPPED } else { DEADLINE });
            self.ready.extend(self.places.take_all().map(|item| given_up(item, why.clone())));
        }
    }

    /// Whether an item is taken although the budget is over: where their number is known, so that each is reported.
    pub(super) fn takes_late(&self, (_, most): (usize, Option<usize>)) -> bool {
        self.ended == Some(Ended::Late) && !self.exhausted && most.is_some()
    }

    /// Takes no further item.
    pub(super) const fn abandon(&mut self) {
        self.ended = Some(Ended::Stopped);
    }

    /// An item that was taken when the budget was over.
    pub(super) fn take_late(&mut self, item: T) {
        let _ = self.number();
        let outcome = Outcome::deferred(item, Why::ended(DEADLINE), false, true);
        self.ready.push_back((outcome, Of::default()));
    }

    /// Ends what is on its way.
    fn cut(&mut self, now: Monotonic) {
        let flights = Pin::new(&mut self.flights).iter_pin_mut();
        self.ready.extend(flights.filter_map(Flight::cut).map(|(item, sent)| {
            if !sent {
                return given_up(item, Why::ended(DEADLINE));
            }
            let spent = now.since(item.entered);
            let exhausted = BudgetExhausted::new(Spent::Time, spent, 1, None);
            item.ends(|item| Outcome::failed(item, Error::BudgetExhausted(exhausted)))
        }));
        self.flights.clear();
        self.places.all_end();
    }

    /// Waits for whatever comes first, and for the end of the budget.
    pub(super) fn pending<T2>(
        &self,
        alarm: &mut Alarm,
        at: Moment,
        cx: &mut Context<'_>,
    ) -> Poll<Option<T2>> {
        let late = if self.ended.is_none() { std::time::Duration::ZERO } else { self.settings.grace };
        if let Some(deadline) = at.budget.deadline()
            && alarm.poll(deadline.after(late), cx).is_ready()
        {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// Deferred: it was not sent, or its vendor said that it is too much, and it may be sent again.
pub(super) fn given_up<T, R>(item: Item<T>, why: Why) -> Known<T, R> {
    let sent = item.was_sent();
    item.ends(|item| Outcome::deferred(item, why, sent, true))
}
