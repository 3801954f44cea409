use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::booked::Flights;

pin_project! {
    /// A response body whose attempt is in flight until it ends, fails or is dropped.
    pub struct Paced<RB> {
        #[pin]
        body: RB,
        flights: Flights,
    }
}

impl<RB: Body> Paced<RB> {
    #[inline]
    pub(super) fn new(body: RB, mut flights: Flights) -> Self {
        if flights.any() && body.is_end_stream() {
            flights = Flights::none();
        }
        Self { body, flights }
    }
}

impl<RB> Paced<RB> {
    /// The body of an attempt that nobody counts.
    #[must_use]
    pub const fn plain(body: RB) -> Self {
        Self { body, flights: Flights::none() }
    }

    /// The body alone; its attempt is not counted as in flight any longer.
    pub fn into_inner(self) -> RB {
        self.body
    }
}

impl<RB: Body> Body for Paced<RB> {
    type Data = RB::Data;
    type Error = RB::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<RB::Data>, RB::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(cx));
        // Who knows the end beforehand does not ask for it.
        if this.flights.any() && (!matches!(frame, Some(Ok(_))) || this.body.is_end_stream()) {
            *this.flights = Flights::none();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<RB: fmt::Debug> fmt::Debug for Paced<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_flight = self.flights.any();
        f.debug_struct("Paced").field("body", &self.body).field("in_flight", &in_flight).finish()
    }
}
