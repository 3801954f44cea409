//! Random histories, compared with the reference after every step.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{
    Ask, Decision, Event, Gate, Grant, Observed, Outcome, Phase, RefusalCause, Ticket, Transition, Turn,
};
use forbear_core::signal::{Class, Scope, Signal};
use forbear_core::time::Monotonic;
use proptest::prelude::*;

use super::reference::{Lease, MAX_ADVERTISED, Reference, Standing};
use super::support::*;

#[derive(Debug, Clone)]
enum Step {
    Advance(u64),
    /// To the end of the cool-down, and a little more.
    SitOut(u64),
    Admit,
    /// Of the nth outstanding attempt; the outcome.
    Answer(usize, Answer),
    Park(Option<u64>),
    Look(usize),
    Leave(usize),
    UseGrant(usize),
    DropGrant(usize),
    Clear,
    Pause,
    Resume,
    Merge {
        epochs: u32,
        generations: i32,
        level: u8,
        length: u64,
        remaining: u64,
    },
}

#[derive(Debug, Clone)]
enum Answer {
    Good,
    Neutral,
    NotSent,
    Bad(usize),
}

fn signals() -> Vec<Signal> {
    let mut aged = throttled().delay(secs(20));
    aged.aged = true;
    vec![
        throttled(),
        throttled().delay(Duration::ZERO),
        throttled().delay(secs(1)),
        throttled().delay(secs(30)),
        throttled().absolute_delay(secs(300)),
        throttled().delay(Duration::MAX),
        of_class(Class::Overloaded),
        of_class(Class::Exhausted),
        of_class(Class::Blocked).delay(secs(9)),
        throttled().delay(secs(5)).scope(Scope::Request),
        aged,
    ]
}

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![
        3 => Just(Answer::Good),
        2 => Just(Answer::Neutral),
        1 => Just(Answer::NotSent),
        3 => (0..signals().len()).prop_map(Answer::Bad),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..400).prop_map(Step::Advance),
        1 => (400_u64..100_000).prop_map(Step::Advance),
        3 => (0_u64..400).prop_map(Step::SitOut),
        8 => Just(Step::Admit),
        7 => (any::<usize>(), answers()).prop_map(|(which, answer)| Step::Answer(which, answer)),
        2 => proptest::option::of(1_u64..200_000).prop_map(Step::Park),
        4 => any::<usize>().prop_map(Step::Look),
        1 => any::<usize>().prop_map(Step::Leave),
        2 => any::<usize>().prop_map(Step::UseGrant),
        1 => any::<usize>().prop_map(Step::DropGrant),
        1 => prop_oneof![Just(Step::Clear), Just(Step::Pause), Just(Step::Resume), Just(Step::Resume)],
        1 => (0_u32..2, -1_i32..3, 0_u8..10, 0_u64..200, 0_u64..300).prop_map(
            |(epochs, generations, level, length, remaining)| Step::Merge {
                epochs, generations, level, length, remaining
            }
        ),
    ]
}

/// A grant, and whether it is the right to probe that the reference knows as reserved.
struct Held {
    ask: Ask,
    grant: Option<Grant>,
    probes: Option<Lease>,
}

struct Pair {
    gate: Arc<Gate>,
    reference: Reference,
    now: Monotonic,
    paused: bool,
    outstanding: Vec<(Ticket, usize)>,
    waiting: Vec<(Ask, Waiting)>,
    held: Vec<Held>,
    signals: Vec<Signal>,
}

/// Takes the nth of `list`, counting round and round.
fn take<T>(list: &mut Vec<T>, which: usize) -> Option<T> {
    (!list.is_empty()).then(|| list.swap_remove(which % list.len()))
}

impl Pair {
    fn new() -> Self {
        Self {
            gate: gate(),
            reference: Reference::new(at(0.0)),
            now: at(0.0),
            paused: false,
            outstanding: Vec::new(),
            waiting: Vec::new(),
            held: Vec::new(),
            signals: signals(),
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Advance(millis) => self.now = self.now.after(ms(*millis)),
            Step::SitOut(millis) => self.now = self.now.max(self.reference.until).after(ms(*millis)),
            _ => {}
        }
        self.reference.advance(self.now);
        match *step {
            Step::Advance(_) | Step::SitOut(_) => {}
            Step::Admit => self.admit(&Ask::new(self.now), None),
            Step::Answer(which, ref answer) => self.answer(which, answer),
            Step::Park(budget) => self.park(budget),
            Step::Look(which) => self.look(which),
            Step::Leave(which) => drop(take(&mut self.waiting, which)),
            Step::UseGrant(which) => self.use_grant(which),
            Step::DropGrant(which) => self.drop_grant(which),
            Step::Clear => {
                let _ = self.gate.clear(operator(), self.now);
                self.reference.clear(self.now);
            }
            Step::Pause => {
                let _ = self.gate.pause(operator(), self.now);
                self.paused = true;
            }
            Step::Resume => {
                let _ = self.gate.resume(operator(), self.now);
                self.paused = false;
            }
            Step::Merge { epochs, generations, level, length, remaining } => {
                let epoch = self.reference.epoch + epochs;
                let generation = self.reference.generation.saturating_add_signed(generations);
                let (length, remaining) = (secs(length), secs(remaining));
                let other = Transition {
                    epoch,
                    generation,
                    level,
                    length,
                    remaining,
                    pace: None,
                    struck: None,
                    by: None,
                    open: true,
                    quiet: Duration::ZERO,
                };
                let _ = self.gate.merge(&other, self.now);
                self.reference.merge((epoch, generation), level, length, remaining, self.now);
            }
        }
        self.compare();
    }

    fn compare(&self) {
        let view = view(&self.gate, self.now);
        let standing = match view.phase {
            Phase::Open | Phase::Recovering => Some(Standing::Up),
            Phase::Cooling => Some(Standing::Cooling),
            Phase::Probing => Some(Standing::Probing),
            _ => None,
        };
        assert_eq!(standing.is_none(), self.paused);
        assert_eq!(standing.unwrap_or(self.reference.standing), self.reference.standing);
        let told = self.gate.transition(self.now);
        assert_eq!((told.epoch, told.generation), (self.reference.epoch, self.reference.generation));
        assert_eq!(told.remaining, self.reference.until.since(self.now));
        assert_eq!(told.length, self.reference.until.since(self.reference.from));
        assert_eq!(told.level, self.reference.level(self.now));
        assert!(told.level <= 7 && told.remaining <= MAX_ADVERTISED);
        assert_eq!(view.waiting, self.waiting.len());
    }

    fn admit(&mut self, ask: &Ask, reserved: Option<Lease>) {
        let Reference { standing, until, lease, .. } = self.reference;
        let holds = reserved.is_some() && lease == reserved;
        let due = self.reference.probe_is_due(self.now) || holds;
        match self.gate.admit(ask, self.now).0 {
            Decision::Go(ticket) => {
                assert!(!self.paused, "paused");
                assert_ne!(standing, Standing::Cooling, "before the deadline");
                assert_eq!(ticket.is_probe(), standing == Standing::Probing);
                assert!(!ticket.is_probe() || due, "a second probe, or one within the gap");
                let attempt = self.reference.sent(ticket.is_probe(), self.now);
                self.outstanding.push((ticket, attempt));
            }
            Decision::Refuse(refusal) => {
                assert_eq!(refusal.cause == RefusalCause::Paused, self.paused);
                if self.paused {
                    assert_eq!((refusal.retry_at, refusal.waitable), (None, false));
                } else {
                    assert!(!due, "the probe is due: {refusal:?}");
                    let retry_at = match (standing, lease) {
                        (Standing::Cooling, _) => Some(until),
                        (Standing::Probing, None) => Some(self.reference.next_probe),
                        (Standing::Probing, Some(Lease::Reserved { ends } | Lease::Sent { ends, .. })) => {
                            Some(ends)
                        }
                        (Standing::Up, _) => refusal.retry_at.filter(|retry_at| *retry_at > self.now),
                    };
                    assert_eq!(refusal.retry_at, retry_at);
                }
            }
        }
    }

    fn answer(&mut self, which: usize, how: &Answer) {
        let Some((ticket, attempt)) = take(&mut self.outstanding, which) else { return };
        // An answer that takes hours is no attempt time that a pace can be made of.
        let timely = self.now.since(ticket.sent()) < secs(60);
        match how {
            Answer::Good if timely => {
                let _ = good(&self.gate, &ticket, self.now);
                self.reference.good(attempt);
            }
            Answer::Good | Answer::Neutral => {
                let _ = neutral(&self.gate, &ticket, self.now);
                self.reference.neutral(attempt, self.now);
            }
            Answer::NotSent => {
                let _ = not_sent(&self.gate, &ticket, self.now);
                self.reference.not_sent(attempt);
            }
            Answer::Bad(signal) => {
                let signal = &self.signals[*signal];
                let observed = self.gate.observe(&ticket, Outcome::Bad(signal, ROUTE), self.now);
                let blind = told_blind(&observed);
                let is_strike = self.reference.bad(attempt, signal, blind, self.now);
                assert_eq!(blind.is_some(), is_strike, "{observed:?}");
            }
        }
    }

    fn park(&mut self, budget: Option<u64>) {
        let ask = Ask::new(self.now);
        let ask = budget.map_or(ask, |millis| ask.deadline(self.now.after(ms(millis))));
        match Waiting::try_park(&self.gate, &ask, 0.3, self.now) {
            Ok(waiting) => self.waiting.push((ask, waiting)),
            Err(refusal) => {
                assert_eq!(refusal.cause == RefusalCause::Paused, self.paused);
                assert!(self.paused || (budget.is_some() && self.reference.standing == Standing::Up));
            }
        }
    }

    fn look(&mut self, which: usize) {
        let Some((ask, mut waiting)) = take(&mut self.waiting, which) else { return };
        let due = self.reference.probe_is_due(self.now);
        match waiting.turn(self.now) {
            Turn::Sleep(until) => {
                assert!(!self.paused);
                assert!(until > self.now, "a timer that has fired already");
                self.waiting.push((ask, waiting));
            }
            Turn::Refused(refusal) => {
                let late = !ask.fits(self.now) || refusal.retry_at.is_some_and(|at| !ask.fits(at));
                assert!(self.paused || late || refusal.cause == RefusalCause::TooLate, "{refusal:?}");
            }
            Turn::Ask(grant) => {
                assert!(!self.paused, "paused");
                assert_ne!(self.reference.standing, Standing::Cooling, "before the deadline");
                let probes = (self.reference.standing == Standing::Probing).then(|| {
                    assert!(due, "a second probe, or one within the gap");
                    let ends = self.now.after(super::reference::ATTEMPT_TIMEOUT);
                    Lease::Reserved { ends }
                });
                self.reference.lease = probes.or(self.reference.lease);
                self.held.push(Held { ask, grant, probes });
            }
        }
    }

    fn use_grant(&mut self, which: usize) {
        let Some(held) = take(&mut self.held, which) else { return };
        self.admit(&with_grant(held.ask, held.grant.as_ref()), held.probes);
        self.let_go(&held);
    }

    fn drop_grant(&mut self, which: usize) {
        let Some(held) = take(&mut self.held, which) else { return };
        self.let_go(&held);
    }

    /// Where the grant was not used, it goes to the next.
    fn let_go(&mut self, held: &Held) {
        if held.probes.is_some() && held.probes == self.reference.lease {
            self.reference.lease = None;
        }
    }

    /// Everybody who waits is polled as a task would be, and every attempt is answered well, until nobody is left.
    fn all_that_wait_are_served(&mut self) {
        self.held.clear();
        self.outstanding.clear();
        let _ = self.gate.resume(operator(), self.now);
        self.now = self.now.max(self.gate_until());
        let end = self.now.after(secs(3_600));
        while self.now < end {
            let now = self.now;
            let mut left = Vec::new();
            for (ask, mut waiting) in self.waiting.drain(..) {
                match waiting.stirs(now).then(|| waiting.turn(now)) {
                    None | Some(Turn::Sleep(_)) => left.push((ask, waiting)),
                    Some(Turn::Refused(_)) => {}
                    Some(Turn::Ask(grant)) => {
                        match self.gate.admit(&with_grant(ask, grant.as_ref()), now).0 {
                            Decision::Go(ticket) => drop(good(&self.gate, &ticket, now)),
                            Decision::Refuse(refusal) => panic!("a grant was refused: {refusal:?}"),
                        }
                    }
                }
            }
            if left.is_empty() {
                return;
            }
            let woken = left.iter().any(|(_, waiting)| waiting.stirs(now));
            let timer = left.iter().map(|(_, waiting)| waiting.timer).min();
            self.waiting = left;
            if !woken {
                self.now = timer.expect("somebody is left").max(now.after(ms(1)));
            }
        }
        panic!("{} callers still wait after an hour", self.waiting.len());
    }

    fn gate_until(&self) -> Monotonic {
        view(&self.gate, self.now).until.unwrap_or(self.now)
    }

    fn a_fresh_ask_is_admitted(mut self) {
        self.waiting.clear();
        self.held.clear();
        let _ = self.gate.resume(operator(), self.now);
        let now = self.now.max(self.gate_until()).after(secs(86_400));
        assert_eq!(view(&self.gate, now).waiting, 0);
        for _ in 0..3 {
            let ticket = go(&self.gate, now);
            let _ = not_sent(&self.gate, &ticket, now);
        }
        assert_eq!(view(&self.gate, now.after(secs(14 * 86_400))).level, 0);
    }
}

fn told_blind(observed: &Observed) -> Option<bool> {
    observed.events.iter().find_map(|event| match event {
        Event::Strike { blind, .. } => Some(*blind),
        _ => None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_ends_where_the_reference_does(history in prop::collection::vec(steps(), 1..80)) {
        let mut pair = Pair::new();
        for step in &history {
            pair.step(step);
        }
        pair.a_fresh_ask_is_admitted();
    }

    #[test]
    fn after_every_history_all_that_wait_are_served(history in prop::collection::vec(steps(), 1..60)) {
        let mut pair = Pair::new();
        for step in &history {
            pair.step(step);
        }
        pair.all_that_wait_are_served();
        pair.a_fresh_ask_is_admitted();
    }
}
