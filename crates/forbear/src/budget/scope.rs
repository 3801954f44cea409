//! The budget of the logical request that is being polled.
//!
//! It is in scope while a [`BudgetService`](super::BudgetService)'s future is polled, on whatever thread, and not in
//! tasks that are spawned from there. A thread-local cell that is swapped in and out costs no allocation, unlike a
//! request extension.

use std::cell::Cell;
use std::sync::Arc;

use forbear_core::budget::Budget;
use forbear_core::signal::Signal;
use forbear_core::time::Monotonic;

/// What one logical request has spent, and what it may.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spending {
    pub(crate) entered: Monotonic,
    /// The earliest deadline of all budgets around.
    pub(crate) deadline: Option<Monotonic>,
    /// Attempts left; `None` where they are not counted.
    pub(crate) left: Option<u32>,
    /// Attempts sent.
    pub(crate) attempts: u32,
    /// A layer counted the attempt that it is about to send, so that the gate below does not count it again.
    pub(crate) announced: bool,
    /// The last signal that an attempt met.
    pub(crate) last_signal: Option<Arc<Signal>>,
    /// Whether it recorded a deadline for a URL.
    pub(crate) recorded: bool,
}

thread_local! {
    static CURRENT: Cell<Option<Spending>> = const { Cell::new(None) };
}

fn swap(with: Option<Spending>) -> Option<Spending> {
    CURRENT.try_with(|current| current.replace(with)).ok().flatten()
}

/// Puts `mine` in scope until the guard is dropped, nested in what is in scope already.
pub(crate) fn enter(mine: &mut Spending) -> Entered<'_> {
    let mut inside = std::mem::take(mine);
    let outer = swap(None);
    if let Some(outer) = &outer {
        inside.deadline = earlier(inside.deadline, outer.deadline);
        inside.left = earlier(inside.left, outer.left);
        inside.recorded |= outer.recorded;
    }
    let before = inside.attempts;
    swap(Some(inside));
    Entered { mine, outer, before }
}

fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Takes the budget out of scope again, also when a panic passes through.
pub(crate) struct Entered<'a> {
    mine: &'a mut Spending,
    outer: Option<Spending>,
    before: u32,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let Some(inside) = swap(None) else { return };
        if let Some(outer) = &mut self.outer {
            // A refusal that comes in a later poll than its attempt was counted in gives one back.
            let sent = inside.attempts.saturating_sub(self.before);
            let refused = self.before.saturating_sub(inside.attempts);
            outer.attempts = outer.attempts.saturating_add(sent).saturating_sub(refused);
            outer.left = outer.left.map(|left| left.saturating_sub(sent).saturating_add(refused));
            outer.recorded |= inside.recorded;
            if inside.last_signal.is_some() {
                outer.last_signal.clone_from(&inside.last_signal);
            }
        }
        *self.mine = inside;
        swap(self.outer.take());
    }
}

/// Reads or changes what is in scope; `None` where nothing is.
pub(crate) fn with<T>(read: impl FnOnce(&mut Spending) -> T) -> Option<T> {
    let mut current = swap(None)?;
    let answer = read(&mut current);
    swap(Some(current));
    Some(answer)
}

/// The budget in scope.
pub(crate) fn budget() -> Budget {
    with(|spending| spending.deadline).flatten().map_or(Budget::UNLIMITED, Budget::until)
}

/// Counts an attempt that is about to be sent; false where none is left. The gate below will not count it again.
pub(crate) fn take_attempt() -> bool {
    count(true)
}

/// Counts an attempt at the gate, which sees all of them, unless the layer above has counted it.
pub(crate) fn pass_attempt() -> bool {
    with(|spending| std::mem::take(&mut spending.announced)).unwrap_or(true) || count(false)
}

fn count(announced: bool) -> bool {
    with(|spending| {
        if spending.left == Some(0) {
            return false;
        }
        spending.left = spending.left.map(|left| left.saturating_sub(1));
        spending.attempts = spending.attempts.saturating_add(1);
        spending.announced = announced;
        true
    })
    .unwrap_or(true)
}

/// The attempt that was announced was not sent: the gate refused it.
pub(crate) fn give_back_attempt() {
    with(|spending| {
        spending.announced = false;
        spending.left = spending.left.map(|left| left.saturating_add(1));
        spending.attempts = spending.attempts.saturating_sub(1);
    });
}

/// Whether another attempt is left.
pub(crate) fn has_attempts() -> bool {
    with(|spending| spending.left != Some(0)).unwrap_or(true)
}

/// Remembers the last signal, for the error that tells of an exhausted budget.
pub(crate) fn saw(signal: &Arc<Signal>) {
    with(|spending| spending.last_signal = Some(Arc::clone(signal)));
}

/// Notes that the logical request records a deadline; whether it did so before. `None` where it is not known.
pub(crate) fn records() -> Option<bool> {
    with(|spending| std::mem::replace(&mut spending.recorded, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn spending(seconds: u64) -> Spending {
        let deadline = Monotonic::ORIGIN.after(Duration::from_secs(seconds));
        Spending { deadline: Some(deadline), ..Spending::default() }
    }

    #[test]
    fn the_earlier_deadline_wins_and_attempts_count_for_both() {
        let (mut outer, mut inner) = (spending(10), spending(20));
        outer.left = Some(2);
        {
            let _outer = enter(&mut outer);
            {
                let _inner = enter(&mut inner);
                assert_eq!(budget(), Budget::until(Monotonic::ORIGIN.after(Duration::from_secs(10))));
                assert!(take_attempt() && take_attempt() && !take_attempt());
            }
            assert!(!take_attempt());
        }
        assert_eq!((inner.attempts, outer.attempts), (2, 2));
        assert_eq!(budget(), Budget::UNLIMITED);
    }

    #[test]
    fn a_panic_leaves_nothing_in_scope() {
        let mut mine = spending(10);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _entered = enter(&mut mine);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err());
        assert!(with(|_| ()).is_none());
        assert!(mine.deadline.is_some());
    }
}
