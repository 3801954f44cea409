//! What a pacer decides under its lock.

use std::task::Waker;
use std::time::Duration;

use crate::time::Monotonic;

use super::entry::Entry;
use super::gap::Gap;
use super::in_flight::InFlight;
use super::queue::{Key, Queue};
use super::refusal::{PacingCause, PacingRefusal};
use super::settings::Pacing;
use super::steering::{Left, Steering};
use super::totals::PacingTotals;
use super::window::Window;

/// One that was woken as the first in line and did nothing for so long lets the next one go first.
const UNRESPONSIVE: Duration = Duration::from_secs(1);
/// From this place in line on, all look equally seldom.
const LAZIEST: usize = 60;

#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: Pacing,
    /// The longest time for which a vendor's word holds.
    longest: Duration,
    gap: Gap,
    windows: Vec<Window>,
    pub(super) in_flight: InFlight,
    pub(super) steering: Steering,
    pub(super) queue: Queue,
    pub(super) totals: PacingTotals,
    /// What is held back for later, and how many attempts that is: in no window yet, but certain to come.
    held: (u64, u32),
    /// The latest time that anybody came with: threads read the clock before they take the lock.
    latest: Monotonic,
    /// Who is to be woken once the lock is free.
    pub(super) wakers: Vec<Waker>,
    /// Wakers that nobody needs any more: their drop is somebody else's code, so it happens once the lock is free.
    pub(super) spent: Vec<Waker>,
}

/// Whether an attempt may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Now,
    /// Then, if nothing is sent before.
    At(Monotonic),
    /// When something ends that nobody knows the end of: what is in flight, or held back.
    Later,
    /// Never: it costs more than a window holds.
    Never,
}

/// What becomes of an attempt that could not go without a look at the queue.
#[derive(Debug)]
pub(super) enum Parked {
    /// It goes, at that time; whether its end is to be told.
    Go(Monotonic, bool),
    Queued(Key),
}

/// What one that waits does next.
#[derive(Debug)]
pub(super) enum Next {
    /// At that time; whether its end is to be told.
    Go(Monotonic, bool),
    Sleep(Monotonic),
    Refused(PacingRefusal),
}

impl State {
    pub(super) fn new(settings: Pacing, longest: Duration) -> Self {
        let mut state = Self {
            queue: Queue::new(settings.background_share),
            settings: Pacing::new(),
            longest,
            gap: Gap::default(),
            windows: Vec::new(),
            in_flight: InFlight::default(),
            steering: Steering::default(),
            totals: PacingTotals::default(),
            held: (0, 0),
            latest: Monotonic::ORIGIN,
            wakers: Vec::new(),
            spent: Vec::new(),
        };
        state.configure(settings, longest);
        state
    }

    /// Decides by other limits from now on, over what was sent so far.
    pub(super) fn configure(&mut self, settings: Pacing, longest: Duration) {
        self.gap.least = settings.gap.saturating_add(settings.margin);
        if settings.gap.is_zero() {
            self.gap.least = Duration::ZERO;
        }
        let mut known = std::mem::take(&mut self.windows);
        known.sort_by_key(|window| window.per);
        self.windows = settings
            .windows
            .iter()
            .map(|(most, per)| {
                let window = Window::new(*most, per.saturating_add(settings.margin), self.latest);
                // The shortest that knows enough, else the longest there is.
                let enough = known.iter().find(|known| known.per >= window.per).or(known.last());
                match enough {
                    Some(known) => window.inherit(known, self.latest),
                    None => window,
                }
            })
            .collect();
        self.in_flight.configure(settings.in_flight, settings.steered);
        if !settings.steered {
            self.steering = Steering::default();
        }
        self.queue.share(settings.background_share);
        self.longest = longest;
        self.settings = settings;
        let latest = self.latest;
        self.queue.take_wakers(&mut self.wakers, latest);
    }

    /// The longest time for which a vendor's word holds.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// Takes over `now`, and makes the changes that time brings.
    #[inline]
    pub(super) fn advance(&mut self, now: Monotonic) -> Monotonic {
        let now = self.latest.max(now);
        self.latest = now;
        self.steering.advance(now);
        for window in &mut self.windows {
            window.advance(now);
        }
        now
    }

    /// Whether an attempt of this cost may go at `now`, nobody else being first.
    #[inline]
    pub(super) fn ready(&self, cost: u32, now: Monotonic) -> Ready {
        let fits = |window: &Window| window.fits(cost.into(), self.held.0);
        let in_time = self.paced_from() <= now;
        if in_time && self.windows.iter().all(fits) && self.in_flight.fits() && !self.holds_gap() {
            return Ready::Now;
        }
        self.not_ready(cost, now)
    }

    #[cold]
    fn not_ready(&self, cost: u32, now: Monotonic) -> Ready {
        if self.windows.iter().any(|window| u64::from(cost) > window.most) {
            return Ready::Never;
        }
        if !self.in_flight.fits() || self.holds_gap() {
            return Ready::Later;
        }
        let mut at = self.paced_from().max(now);
        for window in &self.windows {
            if !window.fits(cost.into(), self.held.0) {
                if self.held.0 > 0 && window.slot(cost.into(), 0, now) <= now {
                    return Ready::Later;
                }
                at = at.max(window.slot(cost.into(), self.held.0, now));
            }
        }
        Ready::At(at)
    }

    /// Whether an attempt that is held back keeps the others at a distance.
    fn holds_gap(&self) -> bool {
        self.held.1 > 0 && !self.gap.least.is_zero()
    }

    /// When the gap ends, and what the vendor closed.
    fn paced_from(&self) -> Monotonic {
        let spread = self.steering.spread.as_ref();
        let ends = self.gap.ends(spread);
        spread.map_or(ends, |spread| ends.max(spread.closed_until))
    }

    /// Notes that an attempt of this cost goes; whether its end is to be told as well.
    #[inline]
    pub(super) fn book(&mut self, cost: u32, now: Monotonic) -> bool {
        self.note(cost, now);
        let counted = self.in_flight.is_counted();
        if counted {
            self.in_flight.count = self.in_flight.count.saturating_add(1);
        }
        counted
    }

    #[inline]
    fn note(&mut self, cost: u32, now: Monotonic) {
        self.gap.book(cost, now);
        for window in &mut self.windows {
            window.book(cost.into(), now);
        }
    }

    /// What was noted at `sent` was not sent after all.
    pub(super) fn unnote(&mut self, cost: u32, sent: Monotonic, now: Monotonic) {
        self.gap.give_back(sent);
        for window in &mut self.windows {
            window.give_back(cost.into(), sent, now);
        }
    }

    /// What was noted at `sent` goes later: nobody knows yet when.
    pub(super) fn hold(&mut self, cost: u32, sent: Monotonic, now: Monotonic) {
        self.unnote(cost, sent, now);
        self.held = (self.held.0.saturating_add(cost.into()), self.held.1.saturating_add(1));
    }

    /// What was held back is not any more; `sent` where it goes now.
    pub(super) fn release(&mut self, cost: u32, sent: Option<Monotonic>) {
        self.held = (self.held.0.saturating_sub(cost.into()), self.held.1.saturating_sub(1));
        if let Some(sent) = sent {
            self.note(cost, sent);
        }
        self.nudge();
    }

    /// One less in flight.
    pub(super) fn ended(&mut self) {
        self.in_flight.count = self.in_flight.count.saturating_sub(1);
        self.nudge();
    }

    /// When an attempt that comes now goes at the earliest. Exact where all that wait are of one priority and caller and one
    /// window or the gap limits them; else it may be later. What is in flight is not considered.
    pub(super) fn expected(&self, entry: &Entry, now: Monotonic) -> Monotonic {
        let mut at = self.gap_bound(entry, now);
        let cost = self.queue.ahead(entry).cost.saturating_add(entry.cost.into());
        if entry.cost > 0 {
            for window in &self.windows {
                at = at.max(window.earliest(cost, self.held.0, now));
            }
        }
        at
    }

    /// Whether an attempt that comes now surely goes before its deadline, as far as time decides: found without a look at
    /// what was sent.
    fn surely_fits(&self, entry: &Entry, now: Monotonic) -> bool {
        let Some(deadline) = entry.deadline else { return true };
        let cost = self.queue.ahead(entry).cost.saturating_add(entry.cost.into());
        let latest = self.windows.iter().map(|window| window.latest(cost, now)).max();
        self.gap_bound(entry, now).max(latest.unwrap_or(now)) < deadline
    }

    /// When the gaps of those ahead have passed.
    fn gap_bound(&self, entry: &Entry, now: Monotonic) -> Monotonic {
        let ahead = u32::try_from(self.queue.ahead(entry).attempts).unwrap_or(u32::MAX);
        self.paced_from().max(now).after(self.gap.least.saturating_mul(ahead))
    }

    /// Goes at once, where it can after all; else takes a place in the queue.
    pub(super) fn park(
        &mut self,
        entry: &Entry,
        shuts_down: bool,
        now: Monotonic,
    ) -> Result<Parked, PacingRefusal> {
        self.pass_over_the_unresponsive(now);
        match self.ready(entry.cost, now) {
            Ready::Never => return Err(self.refuse(PacingCause::Cost, None, now)),
            Ready::Now if self.queue.is_empty() => return Ok(Parked::Go(now, self.book(entry.cost, now))),
            _ => {}
        }
        let in_time = self.surely_fits(entry, now) || entry.fits(self.expected(entry, now));
        let refused = if shuts_down {
            PacingCause::ShuttingDown
        } else if !entry.queues {
            PacingCause::NoQueue
        } else if self.queue.len() >= self.settings.queue {
            PacingCause::QueueFull
        } else if !in_time {
            PacingCause::TooLate
        } else {
            self.totals.waited = self.totals.waited.saturating_add(1);
            return Ok(Parked::Queued(self.queue.insert(*entry, now)));
        };
        let at = self.expected(entry, now);
        Err(self.refuse(refused, Some(at), now))
    }

    pub(super) fn refuse(
        &mut self,
        cause: PacingCause,
        retry_at: Option<Monotonic>,
        now: Monotonic,
    ) -> PacingRefusal {
        self.totals.refusal(cause);
        PacingRefusal { cause, retry_at, at: now, queued: self.queue.len() }
    }

    /// What the one at `key` does next. Where that is to sleep, `waker` is woken when something changes for it.
    pub(super) fn next(&mut self, key: Key, waker: Waker, shuts_down: bool, now: Monotonic) -> Next {
        self.pass_over_the_unresponsive(now);
        let next = self.decide(key, shuts_down, now);
        if let Next::Sleep(until) = next {
            if let Some(waiter) = self.queue.get_mut(key) {
                waiter.looks_at = until;
                waiter.called = None;
                self.spent.extend(waiter.waker.replace(waker));
            }
        } else {
            self.spent.push(waker);
            self.leave(key);
        }
        next
    }

    fn decide(&mut self, key: Key, shuts_down: bool, now: Monotonic) -> Next {
        self.queue.take_back(key);
        let Some(entry) = self.queue.get_mut(key).map(|waiter| waiter.entry) else {
            return Next::Refused(self.refuse(PacingCause::NoQueue, None, now));
        };
        if shuts_down {
            return Next::Refused(self.refuse(PacingCause::ShuttingDown, None, now));
        }
        let deadline = entry.deadline.unwrap_or(Monotonic::NEVER);
        let leads = self.queue.leader() == Some(key);
        let ready = self.ready(entry.cost, now);
        // What is not possible for itself alone is not possible behind others.
        let at = if let Ready::At(at) = ready { at } else { now };
        if ready == Ready::Never {
            return Next::Refused(self.refuse(PacingCause::Cost, None, now));
        }
        if at >= deadline {
            return Next::Refused(self.refuse(PacingCause::TooLate, Some(at), now));
        }
        match ready {
            Ready::Now if leads => {
                let waiter = self.queue.serve(key);
                self.spent.extend(waiter.and_then(|waiter| waiter.waker));
                let counted = self.book(entry.cost, now);
                self.nudge();
                Next::Go(now, counted)
            }
            Ready::At(at) if leads => Next::Sleep(at),
            Ready::Later if leads => Next::Sleep(deadline),
            _ => {
                // The second in line looks every second whether the first still reacts, the third every two seconds, and so
                // on: a few looks a second however many wait, and a way past any number that do not react.
                let seconds = self.queue.ahead_at_most(key, LAZIEST).max(1);
                Next::Sleep(now.after(UNRESPONSIVE.saturating_mul(seconds)).min(deadline))
            }
        }
    }

    /// Gives up a place; whoever is next then is told.
    pub(super) fn leave(&mut self, key: Key) {
        if let Some(waiter) = self.queue.leave(key) {
            self.spent.extend(waiter.waker);
            self.nudge();
        }
    }

    /// Wakes the one that goes next, so that it arms its timer or goes.
    pub(super) fn nudge(&mut self) {
        if let Some(leader) = self.queue.leader()
            && let Some(waiter) = self.queue.get_mut(leader)
        {
            self.wakers.extend(waiter.waker.take());
        }
    }

    /// The first in line was woken, or its timer fired, and it does nothing (its future is held but not polled): it is not
    /// served until it looks again, and the next one leads.
    fn pass_over_the_unresponsive(&mut self, now: Monotonic) {
        let mut passed = false;
        while let Some(key) = self.queue.leader() {
            let Some(waiter) = self.queue.get_mut(key) else { break };
            let since =
                if waiter.waker.is_some() { waiter.looks_at } else { *waiter.called.get_or_insert(now) };
            if now.since(since) < UNRESPONSIVE {
                break;
            }
            self.queue.set_aside(key);
            passed = true;
        }
        if passed {
            self.nudge();
        }
    }

    /// Wakes everybody, so that each decides again.
    pub(super) fn rouse(&mut self) {
        let latest = self.latest;
        self.queue.take_wakers(&mut self.wakers, latest);
    }

    /// Takes what the vendor says is left.
    pub(super) fn steer(&mut self, left: &[Left], sent: Monotonic, now: Monotonic) {
        // The one whose answer it is may still be in flight: its body is.
        let others = u64::from(self.in_flight.count.saturating_sub(1));
        if self.steering.observe(left, (sent, others), self.longest, now) {
            self.totals.steered = self.totals.steered.saturating_add(1);
            match self.steering.spread {
                // Who cannot wait for it is told now.
                Some(spread) if spread.closed_until > now => self.rouse(),
                _ => self.nudge(),
            }
        }
    }

    /// When the next attempt may go, as far as time decides; `None` where it may go now.
    pub(super) fn next_at(&self, now: Monotonic) -> Option<Monotonic> {
        match self.ready(1, now) {
            Ready::At(at) => Some(at),
            Ready::Now | Ready::Later | Ready::Never => None,
        }
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_idle(&self, now: Monotonic) -> bool {
        self.queue.len() == 0
            && self.in_flight.count == 0
            && self.held.1 == 0
            && !self.in_flight.is_steered()
            && self.steering.spread.is_none_or(|spread| spread.until <= now)
            && self.paced_from() <= now
            && self.windows.iter().all(|window| window.is_empty(now))
    }
}
