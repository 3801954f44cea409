use std::fmt;

use crate::gate::Priority;
use crate::partition::Partition;
use crate::time::Monotonic;

/// Who asks, as a request extension: callers that name themselves take turns, by cost, where not everybody can go.
/// Whoever does not is one caller together with all others that do not.
///
/// Known by a keyed hash alone, as a [`Partition`] is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caller(Partition);

impl Caller {
    /// The caller of this name: a user, a job, a tenant. Hashed at once.
    #[must_use]
    pub fn of(key: impl AsRef<[u8]>) -> Self {
        Self(Partition::of_caller(key.as_ref()))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller({})", self.0)
    }
}

/// What a pacer needs to know of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it costs, in the unit that the limits count; 1 where they count attempts. What costs nothing is in no window,
    /// but keeps the gap.
    pub cost: u32,
    /// Interactive or background.
    pub priority: Priority,
    /// Who asks, where it says so.
    pub caller: Option<Caller>,
    /// The end of its budget; `None` where it has none.
    pub deadline: Option<Monotonic>,
    /// Whether it waits where it must; else it is refused.
    pub queues: bool,
    /// Whether its logical request was sent before: then it needs a token of the [`RetryQuota`](super::RetryQuota), where
    /// there is one.
    pub further: bool,
}

impl Entry {
    /// A first attempt: interactive, of cost 1, without a budget or a name, that waits where it must.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            cost: 1,
            priority: Priority::Interactive,
            caller: None,
            deadline: None,
            queues: true,
            further: false,
        }
    }

    /// The same at another cost.
    #[must_use]
    pub const fn cost(mut self, cost: u32) -> Self {
        self.cost = cost;
        self
    }

    /// The same at another priority.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The same for this caller.
    #[must_use]
    pub const fn caller(mut self, caller: Caller) -> Self {
        self.caller = Some(caller);
        self
    }

    /// The same with a budget that ends at `deadline`.
    #[must_use]
    pub const fn deadline(mut self, deadline: Monotonic) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same that is refused where it would have to wait.
    #[must_use]
    pub const fn no_queue(mut self) -> Self {
        self.queues = false;
        self
    }

    /// The same as the second or a later attempt of its logical request.
    #[must_use]
    pub const fn further(mut self) -> Self {
        self.further = true;
        self
    }

    /// Whether a wait until `until` fits: it must end before the deadline.
    #[must_use]
    pub(super) fn fits(&self, until: Monotonic) -> bool {
        self.deadline.is_none_or(|deadline| until < deadline)
    }
}

impl Default for Entry {
    fn default() -> Self {
        Self::new()
    }
}
