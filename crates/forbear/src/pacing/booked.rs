use forbear_core::dialect::{Dialect, Verdict};
use forbear_core::families::Member;
use forbear_core::pacing::{Booking, Left};
use forbear_core::time::Monotonic;
use http::{Request, Response, Uri, header};

use crate::clock;
use crate::extensions::{Signal, effective_uri};

/// What an attempt holds while it is in flight: its place in its family's limits, and in those of its partition. Dropped before
/// the attempt was sent, it costs no quota.
#[derive(Debug)]
pub(crate) struct Booked {
    family: Option<Booking>,
    part: Option<Box<Booking>>,
    /// What its answer teaches, where that is of interest.
    lesson: Option<Box<Lesson>>,
    /// Whether anything may have been sent.
    pub(crate) sent: bool,
}

impl Booked {
    #[inline]
    pub(crate) const fn new(family: Booking) -> Self {
        Self { family: Some(family), part: None, lesson: None, sent: false }
    }

    pub(super) fn and(mut self, part: Option<Booking>) -> Self {
        self.part = part.map(Box::new);
        self
    }

    pub(super) fn learning(mut self, lesson: Option<Box<Lesson>>) -> Self {
        self.lesson = lesson;
        self
    }

    /// Learns from its answer.
    #[inline]
    pub(super) fn answered<RB>(&mut self, response: &Response<RB>) {
        if let Some(lesson) = self.lesson.take() {
            lesson.learn(response, self);
        }
    }

    /// It has to wait for something else before it is sent.
    pub(super) fn hold(&mut self, now: Monotonic) {
        for booking in self.part.as_deref_mut().into_iter().chain(&mut self.family) {
            booking.hold(now);
        }
    }

    /// What was held back goes now; or then, where others went meanwhile and their gap runs.
    pub(super) fn release(&mut self, now: Monotonic) -> Result<(), Monotonic> {
        for booking in self.part.as_deref_mut().into_iter().chain(&mut self.family) {
            if let Err(at) = booking.sent(now) {
                self.hold(now);
                return Err(at);
            }
        }
        Ok(())
    }

    fn bookings(&self) -> impl Iterator<Item = &Booking> {
        self.part.as_deref().into_iter().chain(&self.family)
    }

    /// A good answer came.
    pub(crate) fn good(&self) {
        for booking in self.bookings() {
            booking.pacer().good();
        }
    }

    /// It was not sent after all.
    pub(crate) fn give_back(mut self) {
        self.sent = false;
    }
}

impl Drop for Booked {
    #[inline]
    fn drop(&mut self) {
        if !self.sent {
            self.unsent();
        }
    }
}

impl Booked {
    #[cold]
    fn unsent(&mut self) {
        let now = clock::now();
        for booking in [self.part.take().map(|part| *part), self.family.take()].into_iter().flatten() {
            booking.give_back(now);
        }
    }
}

/// What it takes to learn from an answer.
#[derive(Debug)]
pub(super) struct Lesson {
    uri: Uri,
    dialect: Dialect,
}

impl Lesson {
    pub(super) fn of<B>(request: &Request<B>, member: &Member) -> Box<Self> {
        Box::new(Self { uri: request.uri().clone(), dialect: member.dialect.clone() })
    }

    /// Tells the pacers of `booked` what an answer says of their vendor.
    #[cold]
    fn learn<RB>(&self, response: &Response<RB>, booked: &Booked) {
        // What another family answered says nothing about the one that was asked.
        if effective_uri(response).is_some_and(|uri| *uri != self.uri) {
            return;
        }
        let limited = response.extensions().get::<Signal>().is_some();
        if !limited && matches!(Verdict::unclassified(response.status()), Verdict::Good) {
            booked.good();
        }
        let stored = response.headers().get(header::AGE).is_some_and(|age| age != "0");
        if stored || !booked.bookings().any(|booking| booking.pacer().is_steered()) {
            return;
        }
        let reading = self.dialect.read_head(response.status(), response.headers(), clock::wall());
        let left: Vec<_> = reading.quotas.iter().filter_map(Left::of).collect();
        let now = clock::now();
        for booking in booked.bookings() {
            booking.pacer().steer(&left, booking.at(), now);
        }
    }
}
