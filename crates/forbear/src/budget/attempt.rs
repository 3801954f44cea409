//! Attempts, each counted once for every budget around it.

use super::scope::{UNCOUNTED, with};

/// One attempt of a layer above the gate. It is counted by that layer, and announced to the gate while it is polled:
/// only then, since others of the same logical request may be polled in between.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    counted: bool,
    /// The gate has not let it pass yet.
    announced: bool,
}

impl Attempt {
    /// Counts it, once; false where none is left.
    #[inline]
    pub(crate) fn count(&mut self) -> bool {
        if !self.counted {
            let counted = count();
            self.counted = counted.unwrap_or(true);
            self.announced = counted.unwrap_or(false);
        }
        self.counted
    }

    /// Runs `poll`, which polls it. The gate below will not count it again.
    #[inline]
    pub(crate) fn announce<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        let before = with(|spending| std::mem::replace(&mut spending.announced, self.announced));
        let _announcing = before.map(|before| Announcing { attempt: self, before });
        poll()
    }

    /// It ended in a refusal. Gives it back, unless it passed the gate before and something was sent.
    pub(crate) fn refused(&mut self) {
        if std::mem::take(&mut self.announced) {
            with(|spending| {
                if spending.left != UNCOUNTED {
                    spending.left = spending.left.saturating_add(1);
                }
                spending.attempts = spending.attempts.saturating_sub(1);
            });
        }
    }
}

/// Ends the announcement, also when a panic passes through.
struct Announcing<'a> {
    attempt: &'a mut Attempt,
    before: bool,
}

impl Drop for Announcing<'_> {
    #[inline]
    fn drop(&mut self) {
        with(|spending| self.attempt.announced = std::mem::replace(&mut spending.announced, self.before));
    }
}

/// Counts an attempt at the gate, which sees all of them, unless the layer above has counted it.
#[inline]
pub(crate) fn pass() -> bool {
    with(|spending| std::mem::take(&mut spending.announced)).unwrap_or(true) || count().unwrap_or(true)
}

/// `None` where nothing is in scope, false where no attempt is left.
#[inline]
fn count() -> Option<bool> {
    with(|spending| {
        if spending.left == 0 {
            return false;
        }
        if spending.left != UNCOUNTED {
            spending.left -= 1;
        }
        spending.attempts = spending.attempts.saturating_add(1);
        true
    })
}

#[cfg(test)]
mod tests {
    use super::super::scope::{Scope, attempts};
    use super::*;
    use forbear_core::budget::Budget;
    use forbear_core::time::Monotonic;

    #[test]
    fn an_attempt_that_a_layer_announced_is_counted_once() {
        let mut scope = Scope::new(Monotonic::ORIGIN, Budget::UNLIMITED);
        {
            let _entered = scope.enter();
            let mut first = Attempt::default();
            assert!(first.count() && first.count());
            assert!(first.announce(pass));
            assert_eq!(attempts(), Some(1));
            assert!(first.announce(pass));
            assert_eq!(attempts(), Some(2));
            first.refused();
            assert_eq!(attempts(), Some(2));
        }
        assert_eq!(scope.attempts(), 2);
    }

    #[test]
    fn an_attempt_is_announced_only_while_it_is_polled() {
        let mut scope = Scope::new(Monotonic::ORIGIN, Budget::UNLIMITED);
        {
            let _entered = scope.enter();
            let (mut one, mut other) = (Attempt::default(), Attempt::default());
            assert!(one.count() && other.count());
            one.announce(|| ());
            assert!(other.announce(pass) && one.announce(pass));
            assert_eq!(attempts(), Some(2));
            let mut gone = Attempt::default();
            assert!(gone.count());
            gone.announce(|| ());
            assert!(pass());
            assert_eq!(attempts(), Some(4));
            gone.refused();
            gone.refused();
            assert_eq!(attempts(), Some(3));
        }
        assert_eq!(scope.attempts(), 3);
    }

    #[test]
    fn one_that_was_refused_is_left_to_another() {
        let one = std::num::NonZeroU32::new(1).unwrap();
        let mut scope = Scope::new(Monotonic::ORIGIN, Budget::UNLIMITED.attempts(one));
        let _entered = scope.enter();
        let (mut refused, mut sent) = (Attempt::default(), Attempt::default());
        assert!(refused.count() && !sent.count());
        refused.announce(|| ());
        refused.refused();
        assert!(sent.count() && !Attempt::default().count());
        assert!(sent.announce(pass));
        sent.refused();
        assert!(!Attempt::default().count(), "it passed the gate");
    }
}
