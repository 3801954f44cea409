use std::sync::Arc;
use std::task::{Context, Poll, ready};

use forbear_core::gate::{Gate, Grant, Place, Refusal, Turn};
use forbear_core::time::Monotonic;

use crate::clock::{self, Alarm};
use crate::events;

/// A wait: for a gate's verdict, or for a moment alone. Dropped, it gives up its place.
pub(crate) struct Wait {
    place: Option<Place>,
    /// Where there is no gate: the moment.
    until: Monotonic,
    /// Whether another logical request was told the moment.
    recorded: bool,
    timer: Alarm,
}

/// How a wait ended.
pub(crate) enum Waited {
    /// Send now, with this grant where there is one.
    Over(Option<Grant>),
    /// The deadline of an earlier logical request has passed, as it stood when the wait began.
    Recorded,
    /// It cannot be served within its budget, or before the process shuts down.
    Refused(Arc<Gate>, Refusal),
}

impl Wait {
    pub(crate) const fn at_gate(place: Place) -> Self {
        Self { place: Some(place), until: Monotonic::ORIGIN, recorded: false, timer: Alarm::new() }
    }

    /// In the waiting room, until the deadline that an earlier logical request recorded.
    pub(crate) const fn recorded_in(room: Place) -> Self {
        Self { place: Some(room), until: Monotonic::ORIGIN, recorded: true, timer: Alarm::new() }
    }

    pub(crate) const fn until(until: Monotonic) -> Self {
        Self { place: None, until, recorded: false, timer: Alarm::new() }
    }

    /// Until the deadline that an earlier logical request recorded, which may move meanwhile.
    pub(crate) const fn recorded(until: Monotonic) -> Self {
        Self { place: None, until, recorded: true, timer: Alarm::new() }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Waited> {
        loop {
            let now = clock::now();
            let until = match &mut self.place {
                Some(place) => {
                    let (turn, news) = place.turn(cx.waker(), now);
                    events::emit(place.gate(), &news);
                    match turn {
                        Turn::Ask(_) if self.recorded => return Poll::Ready(Waited::Recorded),
                        Turn::Ask(grant) => return Poll::Ready(Waited::Over(grant)),
                        Turn::Refused(refusal) => {
                            return Poll::Ready(Waited::Refused(Arc::clone(place.gate()), refusal));
                        }
                        Turn::Sleep(until) => until,
                    }
                }
                None if now >= self.until && self.recorded => return Poll::Ready(Waited::Recorded),
                None if now >= self.until => return Poll::Ready(Waited::Over(None)),
                None => self.until,
            };
            ready!(self.timer.poll(until, cx));
        }
    }
}
