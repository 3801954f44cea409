//! What the tests share: a clock that is a number, signals, asking and answering in one line, and counting wakers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use forbear_core::gate::{
    Ask, Decision, Effect, Event, Gate, GateSettings, Grant, Observed, Outcome, Phase, Place, Refusal,
    Ticket, Turn, View, answered_open,
};
use forbear_core::signal::{Class, Signal};
use forbear_core::time::Monotonic;
use http::StatusCode;

/// The route that every test's signals were met on.
pub(super) const ROUTE: &str = "/quotes";

/// `seconds` after the start of a test. A test starts long after the clock's origin.
pub(super) fn at(seconds: f64) -> Monotonic {
    Monotonic::from_nanos(1_000_000_000_000_000).after(Duration::from_secs_f64(seconds))
}

pub(super) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(super) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) fn minutes(minutes: u64) -> Duration {
    secs(60 * minutes)
}

pub(super) fn gate() -> Arc<Gate> {
    Gate::new("vendor", Arc::new(GateSettings::registered()))
}

pub(super) fn gate_with(settings: GateSettings) -> Arc<Gate> {
    Gate::new("vendor", Arc::new(settings))
}

pub(super) fn throttled() -> Signal {
    Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS)
}

pub(super) fn of_class(class: Class) -> Signal {
    Signal::new(class, StatusCode::TOO_MANY_REQUESTS)
}

/// A caller without a budget that asks now.
pub(super) fn decide(gate: &Gate, now: Monotonic) -> Decision {
    gate.admit(&Ask::new(now), now).0
}

#[track_caller]
pub(super) fn go_as(gate: &Gate, ask: &Ask, now: Monotonic) -> Ticket {
    match gate.admit(ask, now).0 {
        Decision::Go(ticket) => ticket,
        Decision::Refuse(refusal) => panic!("refused at {now:?}: {refusal:?}"),
    }
}

#[track_caller]
pub(super) fn go(gate: &Gate, now: Monotonic) -> Ticket {
    go_as(gate, &Ask::new(now), now)
}

#[track_caller]
pub(super) fn refused_as(gate: &Gate, ask: &Ask, now: Monotonic) -> Refusal {
    match gate.admit(ask, now).0 {
        Decision::Refuse(refusal) => refusal,
        Decision::Go(ticket) => panic!("admitted at {now:?}: {ticket:?}"),
    }
}

#[track_caller]
pub(super) fn refused(gate: &Gate, now: Monotonic) -> Refusal {
    refused_as(gate, &Ask::new(now), now)
}

pub(super) fn bad(gate: &Gate, ticket: &Ticket, signal: &Signal, now: Monotonic) -> Observed {
    gate.observe(ticket, Outcome::Bad(signal, ROUTE), now)
}

/// Answers as a layer does: what an open gate let through and met no signal touches nothing shared.
pub(super) fn answer(gate: &Gate, ticket: &Ticket, outcome: Outcome<'_>, now: Monotonic) -> Effect {
    let open = match outcome {
        Outcome::Good => answered_open(ticket, true, || now.since(ticket.sent())),
        Outcome::Neutral | Outcome::NotSent => answered_open(ticket, false, || now.since(ticket.sent())),
        Outcome::Bad(..) => false,
    };
    if open { Effect::None } else { gate.observe(ticket, outcome, now).effect }
}

pub(super) fn good(gate: &Gate, ticket: &Ticket, now: Monotonic) -> Effect {
    answer(gate, ticket, Outcome::Good, now)
}

pub(super) fn neutral(gate: &Gate, ticket: &Ticket, now: Monotonic) -> Effect {
    answer(gate, ticket, Outcome::Neutral, now)
}

pub(super) fn not_sent(gate: &Gate, ticket: &Ticket, now: Monotonic) -> Effect {
    answer(gate, ticket, Outcome::NotSent, now)
}

/// Sends one attempt that is refused at once. What is struck, and how.
#[track_caller]
pub(super) fn strike(gate: &Gate, signal: &Signal, now: Monotonic) -> Strike {
    let ticket = go(gate, now);
    struck(bad(gate, &ticket, signal, now))
}

/// What an operator is told of a strike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Strike {
    pub(super) cooldown: Duration,
    pub(super) level: u8,
    pub(super) blind: bool,
    pub(super) retry_at: Option<Monotonic>,
}

#[track_caller]
pub(super) fn struck(observed: Observed) -> Strike {
    assert_eq!(observed.effect, Effect::Struck);
    let retry_at = observed.retry_at;
    let strikes = observed.events.into_iter().filter_map(|event| match event {
        Event::Strike { cooldown, level, blind, .. } => Some(Strike { cooldown, level, blind, retry_at }),
        _ => None,
    });
    strikes.last().expect("a strike is told")
}

pub(super) fn view(gate: &Gate, now: Monotonic) -> View {
    gate.view(now).0
}

pub(super) fn phase(gate: &Gate, now: Monotonic) -> Phase {
    view(gate, now).phase
}

/// Strikes a new gate once with a delay of `delay`, and answers its probe well: recovering at the time returned.
#[track_caller]
pub(super) fn recovering(gate: &Gate, delay: Duration, now: Monotonic) -> Monotonic {
    let _ = strike(gate, &throttled().delay(delay), now);
    let now = now.after(delay);
    let probe = go(gate, now);
    assert!(probe.is_probe());
    assert_eq!(good(gate, &probe, now), Effect::Recovered);
    now
}

/// Counts how often it was woken.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    pub(super) fn woken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A caller that waits, as a task would: it looks when its timer fires or when it was woken.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) place: Place,
    pub(super) count: Arc<Count>,
    waker: Waker,
    seen: usize,
    /// When its timer fires.
    pub(super) timer: Monotonic,
}

impl Waiting {
    #[track_caller]
    pub(super) fn park(gate: &Arc<Gate>, ask: &Ask, now: Monotonic) -> Self {
        Self::try_park(gate, ask, 0.0, now).expect("a place")
    }

    pub(super) fn try_park(
        gate: &Arc<Gate>,
        ask: &Ask,
        jitter: f64,
        now: Monotonic,
    ) -> Result<Self, Refusal> {
        let place = gate.place(ask, (Monotonic::ORIGIN, jitter), None, now).0?;
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        Ok(Self { place, count, waker, seen: 0, timer: now })
    }

    /// Looks now, whether or not there is a reason to.
    pub(super) fn turn(&mut self, now: Monotonic) -> Turn {
        self.seen = self.count.woken();
        let turn = self.place.turn(&self.waker, now).0;
        if let Turn::Sleep(until) = turn {
            self.timer = until;
        }
        turn
    }

    /// Whether a task would be polled at `now`.
    pub(super) fn stirs(&self, now: Monotonic) -> bool {
        self.count.woken() > self.seen || self.timer <= now
    }

    #[track_caller]
    pub(super) fn sleeps(&mut self, now: Monotonic) -> Monotonic {
        match self.turn(now) {
            Turn::Sleep(until) => until,
            other => panic!("does not sleep at {now:?}: {other:?}"),
        }
    }

    #[track_caller]
    pub(super) fn granted(&mut self, now: Monotonic) -> Option<Grant> {
        match self.turn(now) {
            Turn::Ask(grant) => grant,
            other => panic!("is not served at {now:?}: {other:?}"),
        }
    }

    #[track_caller]
    pub(super) fn turned_away(&mut self, now: Monotonic) -> Refusal {
        match self.turn(now) {
            Turn::Refused(refusal) => refusal,
            other => panic!("is not refused at {now:?}: {other:?}"),
        }
    }
}

/// `ask` with the grant that its wait ended with.
pub(super) fn with_grant(ask: Ask, grant: Option<&Grant>) -> Ask {
    Ask { grant: grant.map(Grant::id), ..ask }
}

/// `ask` of a caller that has waited before.
pub(super) fn waited(ask: Ask) -> Ask {
    Ask { waited: true, ..ask }
}

pub(super) fn operator() -> forbear_core::gate::Operator {
    forbear_core::gate::Operator::new("alice", "the vendor asked by mail")
}
