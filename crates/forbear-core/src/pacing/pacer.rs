use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use crate::gate::Listeners;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::time::Monotonic;
use crate::waking::wake;

use super::booking::Booking;
use super::entry::Entry;
use super::parts::Parts;
use super::refusal::{PacingCause, PacingRefusal};
use super::retry_quota::Retries;
use super::settings::Pacing;
use super::spot::Spot;
use super::state::State;
use super::steering::Left;
use super::waiting::Parked;

/// The pacing of one family, or of one of its partitions, shared by all its callers.
///
/// Where nobody waits and the limits allow it, an attempt costs one short lock and nothing is allocated.
#[derive(Debug)]
pub struct Pacer {
    state: Mutex<State>,
    /// Whether there is anything to hold to.
    paces: AtomicBool,
    /// Whether good answers are of interest.
    pub(super) learns: AtomicBool,
    pub(super) retries: Retries,
    pub(super) parts: OnceLock<Parts>,
    /// Whether partitions have limits for themselves.
    pub(super) by_part: AtomicBool,
    listeners: Option<Arc<Listeners>>,
}

/// What a pacer says to an attempt.
#[derive(Debug)]
pub enum Entered {
    /// Send now.
    Go(Booking),
    /// Wait: [`Spot::turn`] says for what.
    Queued(Spot),
    /// Do not send.
    Refused(PacingRefusal),
}

impl Pacer {
    /// A pacer of these limits. What a vendor says of its own holds for at most `longest`.
    #[must_use]
    pub fn new(pacing: &Pacing, longest: Duration) -> Arc<Self> {
        Arc::new(Self::heard(pacing, longest, None))
    }

    /// The same; its waits end when `listeners` shut down.
    pub(crate) fn heard(pacing: &Pacing, longest: Duration, listeners: Option<Arc<Listeners>>) -> Self {
        Self {
            paces: AtomicBool::new(true),
            learns: AtomicBool::new(pacing.learns()),
            retries: Retries::new(pacing.retry_quota),
            parts: OnceLock::new(),
            by_part: AtomicBool::new(pacing.per_partition.is_some()),
            state: Mutex::new(State::new(pacing.clone(), longest)),
            listeners,
        }
    }

    /// Decides by other limits from now on, over what was sent so far; `None` for no limit at all. Everybody who waits looks
    /// again. What is in flight and was not counted before is not counted now.
    pub(crate) fn configure(&self, pacing: Option<&Pacing>, longest: Duration) {
        let unlimited = Pacing::new();
        let settings = pacing.unwrap_or(&unlimited);
        self.paces.store(pacing.is_some(), Ordering::Release);
        self.learns.store(settings.learns(), Ordering::Release);
        self.by_part.store(settings.per_partition.is_some(), Ordering::Release);
        self.retries.configure(settings.retry_quota);
        // First its own: a part that is made meanwhile has these, or is among those below.
        self.with(|state| state.configure(settings.clone(), longest));
        let each = settings.of_each_partition();
        for part in self.every_part() {
            part.configure(each.as_ref(), longest);
        }
    }

    /// Whether it has a limit to hold to: not where its family was given other settings since.
    #[must_use]
    #[inline]
    pub fn paces(&self) -> bool {
        self.paces.load(Ordering::Acquire)
    }

    /// Whether partitions have limits for themselves.
    #[must_use]
    #[inline]
    pub fn is_by_part(&self) -> bool {
        self.by_part.load(Ordering::Relaxed)
    }

    /// Whether answers matter to it: good ones, or what the vendor says is left.
    #[must_use]
    #[inline]
    pub fn learns(&self) -> bool {
        self.learns.load(Ordering::Relaxed)
    }

    /// Whether neither answers matter to it, nor partitions.
    #[must_use]
    #[inline]
    pub fn is_plain(&self) -> bool {
        !self.learns() && !self.is_by_part()
    }

    /// Whether what the vendor says is left matters to it.
    #[must_use]
    pub fn is_steered(&self) -> bool {
        self.learns() && self.lock().settings.steered
    }

    /// Whether a further attempt would find a token of the retry quota now, or needs none.
    #[must_use]
    pub fn has_retries(&self) -> bool {
        !self.retries.limits() || self.retries.left() > 0
    }

    /// Sends a first attempt at `now`, where that takes no look at the queue; `None`, and nothing is changed, where
    /// [`Pacer::enter`] is to decide.
    #[inline]
    #[must_use]
    pub fn go(self: &Arc<Self>, cost: u32, now: Monotonic) -> Option<Booking> {
        let (at, counted) = self.lock().go(cost, now)?;
        Some(Booking::new(Arc::clone(self), &Entry::new().cost(cost), at, counted))
    }

    /// Whether `entry` may be sent at `now`; else it takes a place in the queue, or is refused.
    #[inline]
    #[must_use]
    pub fn enter(self: &Arc<Self>, entry: &Entry, now: Monotonic) -> Entered {
        if entry.further && !self.retries.withdraw() {
            return self.refuse_further(now);
        }
        let went = self.lock().go(entry.cost, now);
        match went {
            Some((at, counted)) => Entered::Go(Booking::new(Arc::clone(self), entry, at, counted)),
            None => self.park(entry, now),
        }
    }

    #[cold]
    fn refuse_further(&self, now: Monotonic) -> Entered {
        Entered::Refused(self.with(|state| state.refuse(PacingCause::RetryQuota, None, now)))
    }

    /// It cannot go without another look.
    #[cold]
    fn park(self: &Arc<Self>, entry: &Entry, now: Monotonic) -> Entered {
        let shuts_down = self.shuts_down();
        let parked = self.with(|state| {
            let now = state.advance(now);
            state.park(entry, shuts_down, now)
        });
        match parked {
            Ok(Parked::Go(at, counted)) => Entered::Go(Booking::new(Arc::clone(self), entry, at, counted)),
            Ok(Parked::Queued(key)) => Entered::Queued(Spot::new(Arc::clone(self), key, *entry)),
            Err(refusal) => {
                self.not_sent(entry.further);
                Entered::Refused(refusal)
            }
        }
    }

    /// A good answer came: it earns a share of a further attempt, and raises what may be in flight.
    #[inline]
    pub fn good(&self) {
        if self.learns.load(Ordering::Relaxed) {
            self.learn();
        }
    }

    #[cold]
    fn learn(&self) {
        self.retries.deposit();
        self.with(|state| {
            if state.in_flight.good() {
                state.nudge();
            }
        });
    }

    /// Takes what the answer to an attempt that was sent at `sent` says is left. Changes nothing where it is not
    /// [steered](Pacing::steered).
    pub fn steer(&self, left: &[Left], sent: Monotonic, now: Monotonic) {
        if left.is_empty() || !self.learns.load(Ordering::Relaxed) {
            return;
        }
        self.with(|state| {
            if state.settings.steered {
                let now = state.advance(now);
                state.steer(left, sent, now);
            }
        });
    }

    /// The answer to an attempt that was sent at `sent` says that too much is in flight: from now on half of it may be. False
    /// where it is not [steered](Pacing::steered), or cannot be lowered any more; then it is a signal as any other.
    #[must_use]
    pub fn lower(&self, sent: Monotonic, now: Monotonic) -> bool {
        self.learns.load(Ordering::Relaxed)
            && self.with(|state| {
                let lowered = state.settings.steered && state.in_flight.cut(sent, now);
                if lowered {
                    state.totals.steered = state.totals.steered.saturating_add(1);
                }
                lowered
            })
    }

    /// Wakes everybody who waits, so that each asks its gate: the family was closed, or the process shuts down.
    pub(crate) fn rouse(&self) {
        self.with(State::rouse);
        for part in self.every_part() {
            part.with(State::rouse);
        }
    }

    /// Whether nobody waits any more.
    pub(super) fn shuts_down(&self) -> bool {
        self.listeners.as_ref().is_some_and(|listeners| listeners.shuts_down())
    }

    pub(super) fn listeners(&self) -> Option<&Arc<Listeners>> {
        self.listeners.as_ref()
    }

    /// An attempt was not sent; one that took a token has it back.
    pub(super) fn not_sent(&self, further: bool) {
        if further {
            self.retries.give_back();
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock can only come from the allocator; what it left is still a state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `with` under the lock, notes what may go after it, and wakes whom it concerns.
    pub(super) fn with<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let answer = with(&mut state);
        state.look();
        let wakers = std::mem::take(&mut state.wakers);
        let spent = std::mem::take(&mut state.spent);
        drop(state);
        wake(wakers, spent);
        answer
    }
}
