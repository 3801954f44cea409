//! What a pacer decides under its lock.

use std::task::Waker;
use std::time::Duration;

use crate::time::Monotonic;

use super::gap::Gap;
use super::held::Held;
use super::in_flight::InFlight;
use super::queue::Queue;
use super::settings::Pacing;
use super::steering::{Left, Steering};
use super::totals::PacingTotals;
use super::window::Window;

#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: Pacing,
    /// The longest time for which a vendor's word holds.
    longest: Duration,
    pub(super) gap: Gap,
    pub(super) windows: Vec<Window>,
    pub(super) in_flight: InFlight,
    pub(super) steering: Steering,
    pub(super) queue: Queue,
    pub(super) totals: PacingTotals,
    pub(super) held: Held,
    /// What may go without another look.
    room: Room,
    /// The latest time that anybody came with: threads read the clock before they take the lock.
    pub(super) latest: Monotonic,
    /// Who is to be woken once the lock is free.
    pub(super) wakers: Vec<Waker>,
    /// Wakers that nobody needs any more: their drop is somebody else's code, so it happens once the lock is free.
    pub(super) spent: Vec<Waker>,
}

/// What may go without a look at the windows, the queue, or what the vendor says. It was so when somebody looked last, and time
/// alone only makes it more.
#[derive(Debug, Default)]
struct Room {
    /// So much cost: none where somebody waits.
    cost: u64,
    /// So many attempts in flight.
    attempts: u32,
    /// From then on, as the gap has it.
    from: Monotonic,
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
            held: Held::default(),
            room: Room::default(),
            latest: Monotonic::ORIGIN,
            wakers: Vec::new(),
            spent: Vec::new(),
        };
        state.configure(settings, longest);
        state.look();
        state
    }

    /// Decides by other limits from now on, over what was sent so far.
    pub(super) fn configure(&mut self, settings: Pacing, longest: Duration) {
        let margin = if settings.gap.is_zero() { Duration::ZERO } else { settings.margin };
        let kept = self.gap.kept;
        self.gap.configure(settings.gap.saturating_add(margin), settings.steered);
        if self.gap.kept && !kept && self.latest > Monotonic::ORIGIN {
            // The last attempt was not kept: it is not later than that.
            self.gap.book(1, self.latest);
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
        self.steering.on = settings.steered;
        self.queue.share(settings.background_share);
        self.longest = longest;
        self.settings = settings;
        self.rouse();
    }

    /// The longest time for which a vendor's word holds.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// Notes an attempt that surely may go, and says when it goes and whether its end is to be told; `None` where it takes
    /// another look.
    #[inline]
    pub(super) fn go(&mut self, cost: u32, now: Monotonic) -> Option<(Monotonic, bool)> {
        let now = self.latest.max(now);
        if self.room.cost < u64::from(cost) || self.room.attempts == 0 || self.room.from > now {
            return None;
        }
        self.latest = now;
        self.room.cost = self.room.cost.wrapping_sub(cost.into());
        if self.gap.kept {
            self.room.from = self.gap.after(now);
        }
        let counted = self.book(cost, now);
        if counted {
            self.room.attempts = self.room.attempts.saturating_sub(1);
        }
        Some((now, counted))
    }

    /// One less in flight, and nobody waits for that; false where it takes another look.
    #[inline]
    pub(super) fn ended_alone(&mut self) -> bool {
        if !self.queue.none_ready() || self.room.cost == 0 {
            return false;
        }
        self.in_flight.count = self.in_flight.count.saturating_sub(1);
        self.room.attempts = self.in_flight.left();
        true
    }

    /// Looks what may go from now on. Whatever changes anything else than time ends with this.
    pub(super) fn look(&mut self) {
        let closed =
            !self.queue.none_ready() || self.holds_gap(self.latest) || self.steering.spread.is_some();
        let left = self.windows.iter().map(|window| window.left(self.held.cost)).min();
        self.room = Room {
            cost: if closed { 0 } else { left.unwrap_or(u64::MAX) },
            attempts: if closed { 0 } else { self.in_flight.left() },
            from: self.paced_from(),
        };
    }

    /// Takes over `now`, and makes the changes that time brings.
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
    pub(super) fn ready(&self, cost: u32, now: Monotonic) -> Ready {
        let fits = |window: &Window| u64::from(cost) <= window.left(self.held.cost);
        let in_time = self.paced_from() <= now;
        if in_time && self.windows.iter().all(fits) && self.in_flight.left() > 0 && !self.holds_gap(now) {
            return Ready::Now;
        }
        if self.windows.iter().any(|window| u64::from(cost) > window.most) {
            return Ready::Never;
        }
        if self.in_flight.left() == 0 || self.holds_gap(now) {
            return Ready::Later;
        }
        let mut at = self.paced_from().max(now);
        for window in &self.windows {
            if !fits(window) {
                if self.held.cost > 0 && window.slot(cost.into(), 0, now) <= now {
                    return Ready::Later;
                }
                at = at.max(window.slot(cost.into(), self.held.cost, now));
            }
        }
        Ready::At(at)
    }

    /// Whether an attempt that is held back keeps the others at a distance.
    fn holds_gap(&self, now: Monotonic) -> bool {
        self.held.keeps(now) && !self.gap.least.is_zero()
    }

    /// When the gap ends, and what the vendor closed.
    pub(super) fn paced_from(&self) -> Monotonic {
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
        if self.gap.kept {
            self.gap.book(cost, now);
        }
        if self.steering.on {
            self.steering.recent.book(cost, now);
        }
        for window in &mut self.windows {
            window.book(cost.into(), now);
        }
    }

    /// What was noted at `sent` was not sent after all.
    pub(super) fn unnote(&mut self, cost: u32, sent: Monotonic, now: Monotonic) {
        self.gap.give_back(sent);
        self.steering.recent.give_back(sent);
        for window in &mut self.windows {
            window.give_back(cost.into(), sent, now);
        }
    }

    /// What was noted at `sent` goes later: nobody knows yet when.
    pub(super) fn hold(&mut self, cost: u32, sent: Monotonic, queued: bool, now: Monotonic) {
        self.unnote(cost, sent, now);
        self.held.add(cost, queued, now);
    }

    /// What was held back goes at `now`. Where it was held for so long that others went, it keeps its distance from them: then
    /// nothing is noted, it is queued elsewhere no longer, and it says when it may go. Nobody else goes before.
    pub(super) fn send_held(&mut self, cost: u32, queued: bool, now: Monotonic) -> Result<(), Monotonic> {
        let at = self.paced_from();
        if at > now && !self.gap.least.is_zero() {
            self.held.requeue(queued);
            self.held.keep(at);
            return Err(at);
        }
        self.release(cost, queued);
        self.note(cost, now);
        Ok(())
    }

    /// What was held back is not any more.
    pub(super) fn release(&mut self, cost: u32, queued: bool) {
        self.held.remove(cost, queued);
        self.nudge();
    }

    /// One less in flight.
    pub(super) fn ended(&mut self) {
        self.in_flight.count = self.in_flight.count.saturating_sub(1);
        self.nudge();
    }

    /// Takes what the vendor says is left.
    pub(super) fn steer(&mut self, left: &[Left], sent: Monotonic, now: Monotonic) {
        let closed = |steering: &Steering| steering.spread.is_some_and(|spread| spread.closed_until > now);
        let before = closed(&self.steering);
        if self.steering.observe(left, sent, self.longest, now) {
            self.totals.steered = self.totals.steered.saturating_add(1);
            if closed(&self.steering) && !before {
                // Who cannot wait for it is told now.
                self.rouse();
            } else {
                self.nudge();
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
            && self.held.is_empty()
            && !self.in_flight.is_steered()
            && self.steering.spread.is_none_or(|spread| spread.until <= now)
            && self.paced_from() <= now
            && self.windows.iter().all(|window| window.is_empty(now))
    }
}
