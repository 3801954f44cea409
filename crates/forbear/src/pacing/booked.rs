use forbear_core::dialect::{Dialect, Verdict};
use forbear_core::families::Member;
use forbear_core::pacing::{Booking, Flight, Left};
use forbear_core::time::Monotonic;
use http::{Request, Response, Uri, header};

use crate::clock;
use crate::extensions::{Signal, effective_uri};

/// What an attempt holds while it is in flight: its place in its family's limits, and in those of its partition. Dropped before
/// the attempt was sent, it costs no quota.
#[derive(Debug)]
pub(crate) struct Booked {
    family: Option<Booking>,
    rare: Option<Box<Rare>>,
    /// Whether anything may have been sent.
    pub(crate) sent: bool,
}

/// What few attempts have.
#[derive(Debug, Default)]
struct Rare {
    part: Option<Booking>,
    /// What its answer teaches, where that is of interest.
    lesson: Option<Lesson>,
}

/// What of an attempt is in flight while its answer is read.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    family: Option<Flight>,
    part: Option<Box<Flight>>,
}

impl Flights {
    #[inline]
    pub(super) const fn none() -> Self {
        Self { family: None, part: None }
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        self.family.is_some() || self.part.is_some()
    }
}

impl Booked {
    #[inline]
    pub(crate) const fn new(family: Booking) -> Self {
        Self { family: Some(family), rare: None, sent: false }
    }

    pub(super) fn and(mut self, part: Option<Booking>) -> Self {
        if part.is_some() {
            self.rare.get_or_insert_default().part = part;
        }
        self
    }

    pub(super) fn learning(mut self, lesson: Option<Lesson>) -> Self {
        if lesson.is_some() {
            self.rare.get_or_insert_default().lesson = lesson;
        }
        self
    }

    /// Learns from its answer; what is left of it while that is read.
    #[inline]
    pub(super) fn answered<RB>(mut self, response: &Response<RB>) -> Flights {
        let part = if self.rare.is_some() { self.answered_rare(response) } else { None };
        Flights { family: self.family.take().and_then(Booking::answered), part }
    }

    #[cold]
    fn answered_rare<RB>(&mut self, response: &Response<RB>) -> Option<Box<Flight>> {
        if let Some(lesson) = self.rare.as_mut().and_then(|rare| rare.lesson.take()) {
            lesson.learn(response, self);
        }
        self.rare.take()?.part?.answered().map(Box::new)
    }

    /// It has to wait for something else before it is sent.
    pub(super) fn hold(&mut self, now: Monotonic) {
        self.bookings_mut().for_each(|booking| booking.hold(now));
    }

    /// What was held back goes now; or then, where others went meanwhile and their gap runs.
    pub(super) fn release(&mut self, now: Monotonic) -> Result<(), Monotonic> {
        let sent = self.bookings_mut().try_for_each(|booking| booking.sent(now));
        if sent.is_err() {
            self.hold(now);
        }
        sent
    }

    fn bookings(&self) -> impl Iterator<Item = &Booking> {
        self.rare.iter().filter_map(|rare| rare.part.as_ref()).chain(&self.family)
    }

    fn bookings_mut(&mut self) -> impl Iterator<Item = &mut Booking> {
        self.rare.iter_mut().filter_map(|rare| rare.part.as_mut()).chain(&mut self.family)
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
        let part = self.rare.take().and_then(|rare| rare.part);
        for booking in part.into_iter().chain(self.family.take()) {
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
    pub(super) fn of<B>(request: &Request<B>, member: &Member) -> Self {
        Self { uri: request.uri().clone(), dialect: member.dialect.clone() }
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
