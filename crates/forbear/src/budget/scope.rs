//! The budget of the logical request that is being polled.
//!
//! It is in scope while a [`BudgetService`](super::BudgetService)'s future is polled, on whatever thread, and not in
//! tasks that are spawned from there. A few words in a thread-local cell, copied in and out, cost no allocation, unlike
//! a request extension.

use std::cell::Cell;
use std::sync::Arc;

use forbear_core::budget::Budget;
use forbear_core::signal::Signal;
use forbear_core::time::Monotonic;

/// Attempts are not counted.
pub(super) const UNCOUNTED: u32 = u32::MAX;

/// What one logical request has spent, and what it may. Plain numbers, so that they are copied as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spending {
    entered: Monotonic,
    /// The earliest deadline of all budgets around; [`Monotonic::NEVER`] where there is none.
    deadline: Monotonic,
    /// Attempts left.
    pub(super) left: u32,
    /// Attempts sent.
    pub(super) attempts: u32,
    /// Whether anything is in scope at all.
    present: bool,
    /// A layer counted the attempt that it is polling, so that the gate below does not count it again.
    pub(super) announced: bool,
    /// It recorded a deadline for a URL.
    recorded: bool,
    /// The budget's service is being called, so that `entered` is now.
    entering: bool,
    /// An attempt met a signal, which lies in [`LAST_SIGNAL`].
    saw: bool,
    /// It is an inbound request's, or a sweep's: the logical requests inside it are many, and only share its deadline.
    shared: bool,
}

const NOTHING: Spending = Spending {
    entered: Monotonic::ORIGIN,
    deadline: Monotonic::NEVER,
    left: UNCOUNTED,
    attempts: 0,
    present: false,
    announced: false,
    recorded: false,
    entering: false,
    saw: false,
    shared: false,
};

thread_local! {
    static CURRENT: Cell<Spending> = const { Cell::new(NOTHING) };
    static LAST_SIGNAL: Cell<Option<Arc<Signal>>> = const { Cell::new(None) };
}

/// Not reached on the happy path; nothing to remember where the thread is being torn down.
fn swap_last_signal(with: Option<Arc<Signal>>) -> Option<Arc<Signal>> {
    LAST_SIGNAL.try_with(|last| last.replace(with)).ok().flatten()
}

/// The budget of one logical request, held by its future and in scope while that is polled.
#[derive(Debug)]
pub(crate) struct Scope {
    spending: Spending,
    /// Its own attempts left, while it is in scope inside another: that may have fewer now, and more later.
    own_left: u32,
    last_signal: Option<Arc<Signal>>,
}

impl Scope {
    #[inline]
    pub(super) fn new(entered: Monotonic, budget: Budget) -> Self {
        // A budget without end is still a budget: who has one may wait for more than the 60 s of who has none.
        let endless = Monotonic::from_nanos(u64::MAX - 1);
        let deadline = budget.deadline().map_or(Monotonic::NEVER, |deadline| deadline.min(endless));
        let left = budget.most_attempts().map_or(UNCOUNTED, std::num::NonZeroU32::get);
        let spending = Spending { entered, deadline, left, present: true, entering: true, ..NOTHING };
        Self { spending, own_left: left, last_signal: None }
    }

    /// The same for a logical request that is not called in a call of its own: what is asked inside, later, is not
    /// entering.
    pub(crate) fn entered_at(entered: Monotonic, budget: Budget) -> Self {
        let mut scope = Self::new(entered, budget);
        scope.spending.entering = false;
        scope
    }

    /// The deadline that all logical requests of one inbound request, or of one sweep, share. None of them is known to be
    /// the same one.
    #[cfg(any(feature = "server", feature = "sweep"))]
    pub(crate) fn shared(entered: Monotonic, budget: Budget) -> Self {
        let mut scope = Self::entered_at(entered, budget);
        scope.spending.shared = true;
        scope
    }

    /// Puts it in scope until the guard is dropped, nested in what is in scope already.
    #[inline]
    pub(crate) fn enter(&mut self) -> Entered<'_> {
        let outer = CURRENT.get();
        if outer.present {
            let inside = &mut self.spending;
            inside.deadline = inside.deadline.min(outer.deadline);
            self.own_left = inside.left;
            inside.left = inside.left.min(outer.left);
            // One that is shared never records.
            inside.recorded |= outer.recorded;
        }
        if self.last_signal.is_some() {
            self.spending.saw = true;
            swap_last_signal(self.last_signal.take());
        }
        CURRENT.set(self.spending);
        Entered { scope: self, outer }
    }

    /// When it ends, as far as it was seen from inside the budgets around it.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Monotonic> {
        (self.spending.deadline < Monotonic::NEVER).then_some(self.spending.deadline)
    }

    pub(super) const fn entered(&self) -> Monotonic {
        self.spending.entered
    }

    pub(super) const fn attempts(&self) -> u32 {
        self.spending.attempts
    }

    pub(super) fn take_last_signal(&mut self) -> Option<Arc<Signal>> {
        self.last_signal.take()
    }
}

/// Takes the budget out of scope again, also when a panic passes through.
pub(crate) struct Entered<'a> {
    scope: &'a mut Scope,
    outer: Spending,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let mut inside = CURRENT.get();
        if self.outer.present || inside.saw {
            self.tell(&mut inside);
        }
        inside.entering = false;
        self.scope.spending = inside;
        CURRENT.set(self.outer);
    }
}

impl Entered<'_> {
    /// Tells the budget around what was spent, and keeps the last signal.
    #[inline(never)]
    fn tell(&mut self, inside: &mut Spending) {
        let outer = &mut self.outer;
        if outer.present {
            let before = self.scope.spending.attempts;
            let sent = inside.attempts.saturating_sub(before);
            // A refusal that comes in a later poll than its attempt was counted in gives one back.
            let refused = before.saturating_sub(inside.attempts);
            outer.attempts = outer.attempts.saturating_add(sent).saturating_sub(refused);
            inside.left = self.scope.own_left;
            for left in [&mut outer.left, &mut inside.left] {
                if *left != UNCOUNTED {
                    *left = left.saturating_sub(sent).saturating_add(refused);
                }
            }
            outer.recorded |= inside.recorded && !outer.shared;
        }
        if inside.saw {
            let last = swap_last_signal(None);
            if outer.present {
                swap_last_signal(last.clone());
                outer.saw = true;
            }
            self.scope.last_signal = last;
            inside.saw = false;
        }
    }
}

/// Changes what is in scope; `None` where nothing is.
#[inline]
pub(super) fn with<T>(change: impl FnOnce(&mut Spending) -> T) -> Option<T> {
    let mut current = CURRENT.get();
    if !current.present {
        return None;
    }
    let answer = change(&mut current);
    CURRENT.set(current);
    Some(answer)
}

/// The budget in scope.
#[inline]
pub(crate) fn budget() -> Budget {
    let deadline = CURRENT.get().deadline;
    if deadline < Monotonic::NEVER { Budget::until(deadline) } else { Budget::UNLIMITED }
}

/// When the logical request in scope entered.
pub(crate) fn entered() -> Option<Monotonic> {
    let current = CURRENT.get();
    (current.present && !current.shared).then_some(current.entered)
}

/// When the inbound request in scope entered, and how many attempts its logical requests have sent.
#[cfg(feature = "server")]
pub(crate) fn inbound() -> Option<(Monotonic, u32)> {
    let current = CURRENT.get();
    current.present.then_some((current.entered, current.attempts))
}

/// When the logical request in scope entered, where it enters right now: the clock was just read.
#[inline]
pub(crate) fn entering() -> Option<Monotonic> {
    let current = CURRENT.get();
    current.entering.then_some(current.entered)
}

/// How many attempts the logical request in scope has sent.
pub(crate) fn attempts() -> Option<u32> {
    let current = CURRENT.get();
    (current.present && !current.shared).then_some(current.attempts)
}

/// Whether another attempt is left.
pub(crate) fn has_attempts() -> bool {
    CURRENT.get().left > 0
}

/// Remembers the last signal, for the error that tells of an exhausted budget.
pub(crate) fn saw(signal: &Arc<Signal>) {
    if with(|spending| spending.saw = true).is_some() {
        swap_last_signal(Some(Arc::clone(signal)));
    }
}

/// The last signal that an attempt of the logical request in scope met.
pub(crate) fn last_signal() -> Option<Arc<Signal>> {
    if !CURRENT.get().saw {
        return None;
    }
    let signal = swap_last_signal(None);
    swap_last_signal(signal.clone());
    signal
}

/// Notes that the logical request records a deadline; whether it did so before. `None` where it is not known.
pub(crate) fn records() -> Option<bool> {
    with(|spending| !spending.shared && std::mem::replace(&mut spending.recorded, true))
}

#[cfg(test)]
mod tests {
    use super::super::attempt::Attempt;
    use super::*;
    use std::num::NonZeroU32;
    use std::time::Duration;

    fn until(seconds: u64) -> Budget {
        Budget::until(Monotonic::ORIGIN.after(Duration::from_secs(seconds)))
    }

    #[test]
    fn the_earlier_deadline_wins_and_attempts_count_for_both() {
        let two = NonZeroU32::new(2).unwrap();
        let mut outer = Scope::new(Monotonic::ORIGIN, until(10).attempts(two));
        let mut inner = Scope::new(Monotonic::ORIGIN, until(20));
        {
            let _outer = outer.enter();
            {
                let _inner = inner.enter();
                assert_eq!(budget(), until(10));
                let count = || Attempt::default().count();
                assert!(count() && count() && !count());
                assert!(!has_attempts());
            }
            assert!(!Attempt::default().count());
        }
        assert_eq!((inner.attempts(), outer.attempts()), (2, 2));
        assert_eq!(inner.deadline(), until(10).deadline());
        assert_eq!((budget(), entered()), (Budget::UNLIMITED, None));
    }

    #[test]
    fn the_last_signal_is_told_to_all_budgets_around() {
        let signal = Arc::new(Signal::new(
            forbear_core::signal::Class::Throttled,
            http::StatusCode::TOO_MANY_REQUESTS,
        ));
        let mut outer = Scope::new(Monotonic::ORIGIN, until(10));
        let mut inner = Scope::new(Monotonic::ORIGIN, until(20));
        {
            let _outer = outer.enter();
            {
                let _inner = inner.enter();
                saw(&signal);
            }
            {
                let _again = inner.enter();
                assert_eq!(last_signal().as_deref(), Some(&*signal));
                assert_eq!(last_signal().as_deref(), Some(&*signal));
            }
        }
        assert_eq!(outer.take_last_signal().as_deref(), Some(&*signal));
        assert_eq!(inner.take_last_signal().as_deref(), Some(&*signal));
        assert!(last_signal().is_none());
    }

    /// Whoever of them records first, it is the same logical request that records again.
    #[test]
    fn nested_budgets_are_of_one_logical_request() {
        for outer_first in [true, false] {
            let [mut outer, mut inner] = [(), ()].map(|()| Scope::new(Monotonic::ORIGIN, Budget::UNLIMITED));
            assert_eq!(outer.deadline(), None);
            let _outer = outer.enter();
            if outer_first {
                assert_eq!(records(), Some(false));
            }
            {
                let _inner = inner.enter();
                assert_eq!(records(), Some(outer_first));
            }
            assert_eq!(records(), Some(true));
        }
    }

    #[test]
    fn the_time_of_entering_is_now_only_until_the_call_returns() {
        let entered = Monotonic::ORIGIN.after(Duration::from_secs(5));
        let mut scope = Scope::new(entered, Budget::UNLIMITED);
        assert_eq!(entering(), None);
        {
            let _call = scope.enter();
            assert_eq!(entering(), Some(entered));
        }
        let _poll = scope.enter();
        assert_eq!(entering(), None);
        assert_eq!(super::entered(), Some(entered));
    }

    /// What one logical request of a handler recorded, and when it entered, says nothing of the next.
    #[cfg(feature = "server")]
    #[test]
    fn logical_requests_in_an_inbound_one_share_its_deadline_alone() {
        let entered = Monotonic::ORIGIN.after(Duration::from_secs(3));
        let mut inbound = Scope::shared(Monotonic::ORIGIN, until(10));
        let _inbound = inbound.enter();
        assert_eq!((super::entered(), attempts(), entering()), (None, None, None));
        assert_eq!((records(), records()), (Some(false), Some(false)));
        for _ in 0..2 {
            let mut outbound = Scope::new(entered, until(20));
            let _outbound = outbound.enter();
            assert_eq!((budget(), super::entered(), attempts()), (until(10), Some(entered), Some(0)));
            assert_eq!((records(), records()), (Some(false), Some(true)));
            assert!(Attempt::default().count());
            assert_eq!(attempts(), Some(1));
        }
        assert_eq!(super::inbound(), Some((Monotonic::ORIGIN, 2)));
    }

    #[test]
    fn a_panic_leaves_nothing_in_scope() {
        let mut mine = Scope::new(Monotonic::ORIGIN, until(10));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _entered = mine.enter();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err());
        assert!(entered().is_none());
        assert!(mine.deadline().is_some());
    }
}
