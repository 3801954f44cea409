//! Callers of one pacer over a virtual clock: each wakes late by up to so much, cancels, gives back, is held up elsewhere.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

use forbear_core::gate::Priority;
use forbear_core::pacing::{Booking, Caller, Entered, Entry, Pacer, Pacing, Spot, Turn};
use forbear_core::time::Monotonic;

use crate::support::pacer;

/// What happens to each attempt. Shares are of a hundred.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    pub(crate) callers: usize,
    /// What each attempt costs, at least and at most.
    pub(crate) least_cost: u32,
    pub(crate) most_cost: u32,
    /// A timer fires so late at most.
    pub(crate) late: Duration,
    /// So many leave the queue before their turn.
    pub(crate) cancel: u64,
    /// So many are refused elsewhere when it is their turn.
    pub(crate) give_back: u64,
    /// So many are held back for a while when it is their turn.
    pub(crate) hold: u64,
    /// So many are in the background.
    pub(crate) background: u64,
    /// So many names callers have; none where it is zero.
    pub(crate) names: u64,
    /// How long an attempt is in flight, at most.
    pub(crate) takes: Duration,
    pub(crate) seed: u64,
}

impl Habits {
    /// Callers that send as fast as they may.
    pub(crate) fn eager(callers: usize, late: Duration, seed: u64) -> Self {
        Self {
            callers,
            least_cost: 1,
            most_cost: 1,
            late,
            cancel: 0,
            give_back: 0,
            hold: 0,
            background: 0,
            names: 0,
            takes: Duration::ZERO,
            seed,
        }
    }
}

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) at: u64,
    pub(crate) cost: u32,
}

pub(crate) struct Simulated {
    pub(crate) pacer: Arc<Pacer>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) most_in_flight: usize,
    pub(crate) looks: u64,
}

/// A caller that is woken goes on the list.
struct Bell {
    caller: usize,
    woken: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.woken.lock().unwrap().push(self.caller);
    }
}

/// What a caller is about.
enum Doing {
    Idle,
    Waits(Spot, u32),
    Holds(Booking, u32),
    Flies(Booking),
}

/// Something that is due: when, in which order, for whom, and of which round of that caller.
type Due = Reverse<(u64, u64, usize, u64)>;

struct World {
    habits: Habits,
    pacer: Arc<Pacer>,
    now: u64,
    dues: BinaryHeap<Due>,
    number: u64,
    woken: Arc<Mutex<Vec<usize>>>,
    wakers: Vec<Waker>,
    doing: Vec<Doing>,
    rounds: Vec<u64>,
    sent: Vec<Sent>,
    flying: usize,
    most_in_flight: usize,
    looks: u64,
    random: u64,
}

/// Runs callers with these habits for `span`, and lets everybody leave.
pub(crate) fn simulate(pacing: &Pacing, habits: Habits, span: Duration) -> Simulated {
    let woken: Arc<Mutex<Vec<usize>>> = Arc::default();
    let bell = |caller| Arc::new(Bell { caller, woken: Arc::clone(&woken) });
    let mut world = World {
        pacer: pacer(pacing),
        now: 1_000_000_000,
        dues: BinaryHeap::new(),
        number: 0,
        wakers: (0..habits.callers).map(|caller| Waker::from(bell(caller))).collect(),
        woken: Arc::clone(&woken),
        doing: (0..habits.callers).map(|_| Doing::Idle).collect(),
        rounds: vec![0; habits.callers],
        sent: Vec::new(),
        flying: 0,
        most_in_flight: 0,
        looks: 0,
        random: habits.seed | 1,
        habits,
    };
    world.run(span);
    world.doing.clear();
    Simulated {
        pacer: world.pacer,
        sent: world.sent,
        most_in_flight: world.most_in_flight,
        looks: world.looks,
    }
}

impl World {
    fn run(&mut self, span: Duration) {
        let end = self.now + nanos(span);
        for caller in 0..self.habits.callers {
            self.due(self.now, caller);
        }
        while let Some(Reverse((at, _, caller, round))) = self.dues.pop() {
            if at > end {
                break;
            }
            if round != self.rounds[caller] {
                continue;
            }
            self.now = self.now.max(at);
            self.act(caller);
            let woken = std::mem::take(&mut *self.woken.lock().unwrap());
            for caller in woken {
                // A task that was woken runs at once, or a moment later.
                let at = self.now + self.below(20_000);
                self.due(at, caller);
            }
        }
    }

    fn due(&mut self, at: u64, caller: usize) {
        self.number += 1;
        self.dues.push(Reverse((at, self.number, caller, self.rounds[caller])));
    }

    /// A random number below `most`, by xorshift.
    fn below(&mut self, most: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        if most == 0 { 0 } else { self.random % most }
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn time(&self) -> Monotonic {
        Monotonic::from_nanos(self.now)
    }

    fn act(&mut self, caller: usize) {
        match std::mem::replace(&mut self.doing[caller], Doing::Idle) {
            Doing::Idle => self.enter(caller),
            Doing::Waits(spot, cost) => self.look(caller, spot, cost),
            Doing::Holds(mut booking, cost) => {
                if let Err(at) = booking.sent(self.time()) {
                    assert!(at > self.time());
                    self.doing[caller] = Doing::Holds(booking, cost);
                    return self.due(at.as_nanos(), caller);
                }
                assert_eq!(booking.at(), self.time());
                self.send(caller, booking, cost);
            }
            Doing::Flies(booking) => {
                drop(booking);
                self.flying -= 1;
                self.again(caller);
            }
        }
    }

    fn again(&mut self, caller: usize) {
        self.rounds[caller] += 1;
        self.due(self.now, caller);
    }

    fn enter(&mut self, caller: usize) {
        let Habits { least_cost, most_cost, .. } = self.habits;
        let cost = least_cost + u32::try_from(self.below(u64::from(most_cost - least_cost) + 1)).unwrap();
        let mut entry = Entry::new().cost(cost);
        if self.happens(self.habits.background) {
            entry = entry.priority(Priority::Background);
        }
        if self.habits.names > 0 {
            let name = caller as u64 % self.habits.names;
            entry = entry.caller(Caller::of(name.to_le_bytes()));
        }
        match self.pacer.enter(&entry, self.time()) {
            Entered::Go(booking) => self.go(caller, booking, cost),
            Entered::Queued(spot) => self.look(caller, spot, cost),
            Entered::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    fn look(&mut self, caller: usize, mut spot: Spot, cost: u32) {
        self.looks += 1;
        if self.happens(self.habits.cancel) {
            drop(spot);
            return self.again(caller);
        }
        let waker = self.wakers[caller].clone();
        match spot.turn(&waker, self.time()) {
            Turn::Go(booking) => self.go(caller, booking, cost),
            Turn::Sleep(until) => {
                let late = self.below(nanos(self.habits.late) + 1);
                self.doing[caller] = Doing::Waits(spot, cost);
                self.due(until.as_nanos().saturating_add(late), caller);
            }
            Turn::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    /// It is its turn.
    fn go(&mut self, caller: usize, mut booking: Booking, cost: u32) {
        self.rounds[caller] += 1;
        if self.happens(self.habits.give_back) {
            booking.give_back(self.time());
            self.due(self.now, caller);
        } else if self.happens(self.habits.hold) {
            booking.hold(self.time());
            self.doing[caller] = Doing::Holds(booking, cost);
            let at = self.now + self.below(3_000_000_000);
            self.due(at, caller);
        } else {
            self.send(caller, booking, cost);
        }
    }

    fn send(&mut self, caller: usize, booking: Booking, cost: u32) {
        self.rounds[caller] += 1;
        self.sent.push(Sent { at: self.now, cost });
        self.flying += 1;
        self.most_in_flight = self.most_in_flight.max(self.flying);
        self.doing[caller] = Doing::Flies(booking);
        let takes = self.below(nanos(self.habits.takes) + 1);
        let at = self.now + takes;
        self.due(at, caller);
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}
