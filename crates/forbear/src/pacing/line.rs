use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use forbear_core::budget::Budget;
use forbear_core::gate::{Ask, Gate, Refusal};
use forbear_core::pacing::{Booking, Entered, Entry, Pacer, PacingRefusal, Spot, Turn};
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;

use super::booked::Booked;
use crate::Error;
use crate::clock::{self, Alarm};
use crate::error::{Cooling, PacingRefused};

/// An attempt in line: for its partition's limits, and then for its family's. Its gates are asked whenever it is polled: on
/// entry, when its turn comes, and when a strike wakes everybody. Dropped, it leaves the line.
pub(crate) struct Line {
    gate: Arc<Gate>,
    /// The gate of its part of the family, where that has one.
    part_gate: Option<Arc<Gate>>,
    ask: Ask,
    entry: Entry,
    pacer: Arc<Pacer>,
    /// That of its partition, until it let it go.
    part: Option<Arc<Pacer>>,
    /// What its partition let go, and its family not yet.
    booked: Option<Booking>,
    spot: Option<Spot>,
    /// What both let go.
    went: Option<Booked>,
    alarm: Alarm,
}

/// Why an attempt is not sent.
pub(crate) enum Refused {
    /// A gate would not let it through.
    Gate(Arc<Gate>, Refusal),
    Pacing(Arc<Gate>, PacingRefusal),
}

impl Refused {
    pub(crate) fn into_error(self, url: Option<RedactedUrl>) -> Error {
        match self {
            Self::Gate(gate, refusal) => Error::Cooling(Cooling::gate(&gate, &refusal, url)),
            Self::Pacing(gate, refusal) => Error::Pacing(PacingRefused::new(&gate, &refusal, url)),
        }
    }
}

/// What an attempt in line does next.
enum Step {
    Go(Booking),
    Sleep(Monotonic),
    Refused(PacingRefusal),
}

impl Line {
    /// The line of `pacer`, that of the family whose gate is `gate`. The deadline of `entry` is that of `ask`, less what an
    /// answer takes: sent at the very end of its budget, an attempt would cost quota and serve nobody. Or it is one for who
    /// has none.
    pub(crate) fn new(
        (gate, part_gate): (Arc<Gate>, Option<Arc<Gate>>),
        (pacer, part): (Arc<Pacer>, Option<Arc<Pacer>>),
        ask: Ask,
        entry: Entry,
        now: Monotonic,
    ) -> Self {
        let deadline = match ask.deadline {
            Some(deadline) => deadline.before(gate.needed()),
            None => now.after(Budget::WAIT_WITHOUT),
        };
        let entry = Entry { deadline: Some(deadline), priority: ask.priority, ..entry };
        Self {
            gate,
            part_gate,
            ask,
            entry,
            pacer,
            part,
            booked: None,
            spot: None,
            went: None,
            alarm: Alarm::new(),
        }
    }

    /// Ready when it may be sent, or never may.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Booked, Refused>> {
        loop {
            let now = clock::now();
            if let Some(booked) = &mut self.went {
                // What was held in its partition meanwhile goes now, where nobody else of it just did.
                if let Err(at) = booked.release(now) {
                    ready!(self.alarm.poll(at, cx));
                    continue;
                }
                let Some(booked) = self.went.take() else { continue };
                return Poll::Ready(Ok(booked));
            }
            if let Some(refused) = self.look(now) {
                return Poll::Ready(Err(refused));
            }
            match self.step(cx.waker(), now) {
                Step::Go(family) => self.went = Some(Booked::new(family).and(self.booked.take())),
                Step::Sleep(until) => ready!(self.alarm.poll(until, cx)),
                Step::Refused(refusal) => {
                    return Poll::Ready(Err(Refused::Pacing(Arc::clone(&self.gate), refusal)));
                }
            }
        }
    }

    /// Whether a gate is closed, in the order in which they are asked in earnest.
    fn look(&self, now: Monotonic) -> Option<Refused> {
        let gates = self.part_gate.iter().chain([&self.gate]);
        gates.into_iter().find_map(|gate| {
            gate.look(&self.ask, now).map(|refusal| Refused::Gate(Arc::clone(gate), refusal))
        })
    }

    /// Until when it waits, by what is known now: it may have come before the first answer, or the vendor became slow. One slow
    /// answer is no reason to refuse all that wait, so here the mean decides.
    fn deadline(&self) -> Option<Monotonic> {
        let latest = self.ask.deadline?.before(self.gate.answers_in());
        self.entry.deadline.map(|deadline| deadline.min(latest))
    }

    fn step(&mut self, waker: &Waker, now: Monotonic) -> Step {
        if self.spot.is_some()
            && let Some(deadline) = self.deadline()
            && let Some(spot) = &mut self.spot
        {
            spot.until(deadline);
        }
        loop {
            let turn = match &mut self.spot {
                Some(spot) => spot.turn(waker, now),
                None => match self.enter(now) {
                    Entered::Go(booking) => Turn::Go(booking),
                    Entered::Refused(refusal) => Turn::Refused(refusal),
                    Entered::Queued(spot) => {
                        // What waits for its family counts in its partition, but is not sent yet.
                        if let Some(part) = &mut self.booked {
                            part.hold_queued(now);
                        }
                        self.spot = Some(spot);
                        continue;
                    }
                },
            };
            match turn {
                Turn::Go(booking) if self.part.take().is_some() => {
                    self.booked = Some(booking);
                    self.spot = None;
                }
                Turn::Go(booking) => {
                    self.spot = None;
                    return Step::Go(booking);
                }
                Turn::Sleep(until) => return Step::Sleep(until),
                Turn::Refused(refusal) => return Step::Refused(refusal),
            }
        }
    }

    fn enter(&self, now: Monotonic) -> Entered {
        match &self.part {
            // The retry quota is the family's.
            Some(part) => part.enter(&Entry { further: false, ..self.entry }, now),
            None => self.pacer.enter(&self.entry, now),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // First its place, so that what it gives back goes to who is next.
        self.spot = None;
        if let Some(part) = self.booked.take() {
            part.give_back(clock::now());
        }
    }
}
