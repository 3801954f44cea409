//! One logical request, and the rules by which it waits: those of `RetryAfterLayer` over the gate.

use std::task::Waker;
use std::time::Duration;

use forbear_core::gate::{Ask, Decision, Outcome, Place, Ticket, Turn, answered_open};
use forbear_core::signal::{Class, Signal};
use forbear_core::time::Monotonic;
use forbear_storm::OUT;
use forbear_storm::model::Answer;
use http::StatusCode;

use super::world::{Happens, World};

/// The first of a call's own waits, and the longest.
const FLOOR: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(8));

/// One logical request.
pub(crate) struct Call {
    pub(crate) ask: Ask,
    /// Even numbers are gates of the vendor, odd ones of the healthy family.
    pub(crate) gate: usize,
    pub(crate) stands: Stands,
    pub(crate) served: bool,
    /// When it looks again of itself, and when the next of its timers goes off.
    pub(crate) wants: Monotonic,
    pub(crate) planned: Monotonic,
    attempt: u32,
    floor: Duration,
    /// How often its wait is polled before its future is only held.
    looks: u32,
    waker: Waker,
}

/// Where a call stands.
pub(crate) enum Stands {
    New,
    Sent(Ticket),
    Parked(Place),
    /// Its future is held and never polled again.
    Frozen {
        _held: Place,
    },
    Over,
}

impl Call {
    pub(crate) fn new(ask: Ask, gate: usize, looks: u32, waker: Waker) -> Self {
        Self {
            ask,
            gate,
            stands: Stands::New,
            served: false,
            wants: Monotonic::NEVER,
            planned: Monotonic::NEVER,
            attempt: 0,
            floor: FLOOR.0,
            looks,
            waker,
        }
    }
}

impl Call {
    fn freeze(&mut self) {
        self.stands = match std::mem::replace(&mut self.stands, Stands::Over) {
            Stands::Parked(place) => Stands::Frozen { _held: place },
            other => other,
        };
    }
}

impl World<'_> {
    /// Asks the gate, and sends, waits or ends.
    pub(crate) fn ask(&mut self, call: usize) {
        let (gate, ask) = (self.calls[call].gate, self.calls[call].ask);
        let (decision, events) = self.gates[gate].admit(&ask, self.now);
        self.told(gate, &events);
        match decision {
            Decision::Go(ticket) => {
                let this = &mut self.calls[call];
                this.attempt += 1;
                this.stands = Stands::Sent(ticket);
                let attempt = this.attempt;
                self.plan(self.now.after(OUT), call, Happens::Arrive(attempt));
            }
            Decision::Refuse(refusal) if refusal.waitable => {
                self.park(call, Monotonic::ORIGIN, Some(refusal.at));
            }
            Decision::Refuse(_) => self.end(call),
        }
    }

    fn park(&mut self, call: usize, not_before: Monotonic, refused_at: Option<Monotonic>) {
        let (gate, ask) = (self.calls[call].gate, self.calls[call].ask);
        let jitter = self.rng.f64();
        let (place, events) = self.gates[gate].place(&ask, (not_before, jitter), refused_at, self.now);
        self.told(gate, &events);
        match place {
            Ok(place) => {
                self.calls[call].stands = Stands::Parked(place);
                self.poll(call);
            }
            Err(_) => self.end(call),
        }
    }

    /// A parked call looks what to do next.
    pub(crate) fn poll(&mut self, call: usize) {
        let this = &mut self.calls[call];
        let Stands::Parked(place) = &mut this.stands else { return };
        let (turn, events) = place.turn(&this.waker, self.now);
        let gate = this.gate;
        self.told(gate, &events);
        let this = &mut self.calls[call];
        match turn {
            Turn::Sleep(until) => {
                this.looks -= 1;
                if this.looks == 0 {
                    this.freeze();
                } else {
                    this.wants = until;
                    self.arm(call);
                }
            }
            Turn::Ask(grant) => {
                this.stands = Stands::New;
                this.ask.waited = true;
                this.ask.grant = grant.as_ref().map(forbear_core::gate::Grant::id);
                self.ask(call);
                drop(grant);
                self.calls[call].ask.grant = None;
            }
            Turn::Refused(_) => self.end(call),
        }
    }

    /// Plans a timer unless one goes off early enough: a later wish is looked at again then.
    pub(crate) fn arm(&mut self, call: usize) {
        let this = &mut self.calls[call];
        if this.wants < this.planned {
            let until = this.wants;
            this.planned = until;
            self.plan(until, call, Happens::Timer);
        }
    }

    /// A timer goes off.
    pub(crate) fn alarm(&mut self, call: usize) {
        let this = &mut self.calls[call];
        if self.now < this.planned {
            return;
        }
        this.planned = Monotonic::NEVER;
        if this.wants <= self.now { self.poll(call) } else { self.arm(call) }
    }

    /// An answer comes back.
    pub(crate) fn answered(&mut self, call: usize, attempt: u32, answer: Answer) {
        let this = &self.calls[call];
        let Stands::Sent(ticket) = this.stands else { return };
        if this.attempt != attempt {
            return;
        }
        match answer {
            Answer::Good => {
                if !answered_open(&ticket, true, || self.now.since(ticket.sent())) {
                    let observed = self.gates[this.gate].observe(&ticket, Outcome::Good, self.now);
                    self.told(self.calls[call].gate, &observed.events);
                }
                self.calls[call].served = true;
                self.end(call);
            }
            Answer::Limited(hint) => self.limited(call, &ticket, hint),
        }
    }

    fn limited(&mut self, call: usize, ticket: &Ticket, hint: Option<Duration>) {
        let gate = self.calls[call].gate;
        let mut signal = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS);
        if let Some(hint) = hint.filter(|hint| !hint.is_zero()) {
            signal = signal.delay(hint);
        }
        let observed = self.gates[gate].observe(ticket, Outcome::Bad(&signal, "/"), self.now);
        self.told(gate, &observed.events);
        let this = &mut self.calls[call];
        let own = self.now.after(this.floor.max(hint.unwrap_or_default()));
        this.floor = (this.floor * 2).min(FLOOR.1);
        this.ask.waited = true;
        let until = observed.retry_at.map_or(own, |at| at.max(own));
        if this.ask.fits(until) { self.park(call, own, None) } else { self.end(call) }
    }

    /// The call's deadline comes: what is in flight is cancelled, a place is left.
    pub(crate) fn give_up(&mut self, call: usize) {
        let this = &self.calls[call];
        match &this.stands {
            Stands::Over | Stands::Frozen { .. } => return,
            Stands::Sent(ticket) => {
                if !answered_open(ticket, false, Duration::default) {
                    let observed = self.gates[this.gate].observe(ticket, Outcome::Neutral, self.now);
                    self.told(self.calls[call].gate, &observed.events);
                }
            }
            Stands::New | Stands::Parked(_) => {}
        }
        self.end(call);
    }

    fn end(&mut self, call: usize) {
        self.calls[call].stands = Stands::Over;
        self.over(call);
    }
}
