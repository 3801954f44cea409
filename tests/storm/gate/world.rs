//! The event loop: one virtual clock, one heap of events, no runtime.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

use fastrand::Rng;
use forbear_core::gate::{Ask, Event, Gate, GateSettings};
use forbear_core::time::Monotonic;
use forbear_storm::figures::Run;
use forbear_storm::model::{Answer, Healthy, Vendor};
use forbear_storm::oracle::oracle;
use forbear_storm::scenario::{Load, Scenario, gap};
use forbear_storm::{OUT, START};

use super::call::{Call, Stands};

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happens {
    Enter,
    /// The attempt of this number reaches the vendor.
    Arrive(u32),
    /// Its answer reaches the caller: good, or the seconds of its `Retry-After`.
    Good(u32),
    Limited(u32, Option<Duration>),
    Timer,
    Deadline,
}

/// The world of one run.
pub(crate) struct World<'a> {
    pub(crate) now: Monotonic,
    pub(crate) rng: Rng,
    pub(crate) calls: Vec<Call>,
    pub(crate) gates: Vec<Arc<Gate>>,
    pub(crate) run: Run,
    scenario: &'a Scenario,
    vendors: [Box<dyn Vendor>; 2],
    heap: BinaryHeap<Reverse<(Monotonic, u64, usize, Happens)>>,
    number: u64,
    woken: Arc<Mutex<Vec<usize>>>,
}

struct Runnable {
    call: usize,
    woken: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Runnable {
    fn wake(self: Arc<Self>) {
        self.woken.lock().unwrap().push(self.call);
    }
}

/// Runs `scenario` to its end.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Run {
    let mut rng = Rng::with_seed(seed);
    let entries = scenario.load.entries(&mut rng);
    let mut world = World {
        now: START,
        rng,
        calls: Vec::new(),
        gates: Vec::new(),
        run: Run { recovered: scenario.recovered, ..Run::default() },
        scenario,
        vendors: [(scenario.vendor)(), Box::new(Healthy)],
        heap: BinaryHeap::new(),
        number: 0,
        woken: Arc::default(),
    };
    world.run.oracle = oracle(scenario, &entries);
    world.people(&entries);
    while let Some(Reverse((at, _, call, happens))) = world.heap.pop() {
        world.now = at;
        world.happens(call, happens);
        world.poll_woken();
    }
    assert!(world.calls.iter().all(|call| matches!(call.stands, Stands::Over | Stands::Frozen { .. })));
    world.run
}

impl World<'_> {
    /// Makes the gates of both families of every replica, and the calls: one to the healthy family for nine to the
    /// vendor.
    fn people(&mut self, entries: &[Monotonic]) {
        for _ in 0..self.scenario.replicas {
            self.gates.push(Gate::new("vendor", self.scenario.gates()));
            self.gates.push(Gate::new("healthy", Arc::new(GateSettings::automatic())));
        }
        for (n, entered) in entries.iter().enumerate() {
            self.enter(*entered, 2 * (n % self.scenario.replicas));
        }
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        let span = last.since(*first).as_secs_f64().max(1.0);
        let rate = entries.len() as f64 / 9.0 / span;
        let mut at = first.after(gap(rate, &mut self.rng));
        while at < first.after(Duration::from_secs_f64(span)) {
            let replica = self.rng.usize(0..self.scenario.replicas);
            self.enter(at, 2 * replica + 1);
            at = at.after(gap(rate, &mut self.rng));
        }
    }

    fn enter(&mut self, entered: Monotonic, gate: usize) {
        let call = self.calls.len();
        let waker = Waker::from(Arc::new(Runnable { call, woken: Arc::clone(&self.woken) }));
        let ask = Ask::new(entered).deadline(entered.after(self.scenario.deadline));
        let (frozen, after) = &self.scenario.frozen;
        let looks = if frozen.contains(&call) { *after } else { u32::MAX };
        self.calls.push(Call::new(ask, gate, looks, waker));
        let waits = matches!(self.scenario.load, Load::OneByOne(_)) && call > 0 && gate == 0;
        if !waits {
            self.plan(entered, call, Happens::Enter);
        }
    }

    /// Lets something happen at a time.
    pub(crate) fn plan(&mut self, at: Monotonic, call: usize, happens: Happens) {
        self.number += 1;
        self.heap.push(Reverse((at.max(self.now), self.number, call, happens)));
    }

    fn happens(&mut self, call: usize, happens: Happens) {
        match happens {
            Happens::Enter => {
                if matches!(self.scenario.load, Load::OneByOne(_)) {
                    let ask = &mut self.calls[call].ask;
                    *ask = Ask::new(self.now).deadline(self.now.after(self.scenario.deadline));
                }
                let deadline = self.calls[call].ask.deadline.unwrap();
                self.plan(deadline, call, Happens::Deadline);
                self.ask(call);
            }
            Happens::Arrive(attempt) => self.arrive(call, attempt),
            Happens::Good(attempt) => self.answered(call, attempt, Answer::Good),
            Happens::Limited(attempt, hint) => self.answered(call, attempt, Answer::Limited(hint)),
            Happens::Timer => self.alarm(call),
            Happens::Deadline => self.give_up(call),
        }
    }

    fn arrive(&mut self, call: usize, attempt: u32) {
        let healthy = self.calls[call].gate % 2;
        let answer = self.vendors[healthy].answer(self.now);
        if healthy == 0 {
            self.run.attempts.push(self.now);
        }
        let ten = Duration::from_millis(10).as_secs_f64();
        let (back, happens) = match answer {
            Answer::Good => {
                let back = if healthy == 0 { self.scenario.back } else { OUT };
                let spread = Duration::from_secs_f64(2.0 * ten * self.rng.f64());
                (back.saturating_sub(Duration::from_millis(10)) + spread, Happens::Good(attempt))
            }
            Answer::Limited(hint) => {
                self.run.limited += 1;
                (Duration::from_secs_f64(ten * self.rng.f64()), Happens::Limited(attempt, hint))
            }
        };
        self.plan(self.now.after(back), call, happens);
    }

    /// Polls whoever a gate woke, until nobody is left.
    fn poll_woken(&mut self) {
        loop {
            let mut woken = std::mem::take(&mut *self.woken.lock().unwrap());
            if woken.is_empty() {
                return;
            }
            woken.dedup();
            for call in woken {
                self.poll(call);
            }
        }
    }

    /// One call is over; in a sweep the next one begins.
    pub(crate) fn over(&mut self, call: usize) {
        let healthy = self.calls[call].gate % 2 == 1;
        let took = self.now.since(self.calls[call].ask.entered);
        let served = self.calls[call].served;
        self.run.over(healthy, served, took, self.now);
        let next = call + 1;
        if let Load::OneByOne(calls) = self.scenario.load
            && !healthy
            && next < calls
        {
            self.plan(self.now, next, Happens::Enter);
        }
    }

    /// Notes what an operator would be told.
    pub(crate) fn told(&mut self, gate: usize, events: &[Event]) {
        for event in events {
            assert!(gate.is_multiple_of(2), "the healthy family is touched: {event:?}");
            self.run.transitions.push(self.now);
        }
    }
}
