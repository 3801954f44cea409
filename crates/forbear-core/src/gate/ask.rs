use crate::living::Id;
use crate::time::Monotonic;

/// Who goes first where not everybody can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Priority {
    /// Somebody is waiting for the answer.
    #[default]
    Interactive,
    /// Nobody is looking: served after interactive requests.
    Background,
}

/// What a gate needs to know of the logical request that asks to be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// When the logical request entered: recovery serves in this order.
    pub entered: Monotonic,
    /// The end of its budget; `None` where it has none.
    pub deadline: Option<Monotonic>,
    /// Whether it has waited for this vendor before.
    pub waited: bool,
    /// Interactive or background.
    pub priority: Priority,
    /// The grant that its wait ended with, if it comes from a wait.
    pub grant: Option<GrantId>,
}

impl Ask {
    /// A logical request that enters at `now`, interactive, without a budget.
    #[must_use]
    pub const fn new(now: Monotonic) -> Self {
        Self { entered: now, deadline: None, waited: false, priority: Priority::Interactive, grant: None }
    }

    /// The same with a budget that ends at `deadline`.
    #[must_use]
    pub const fn deadline(mut self, deadline: Monotonic) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same at another priority.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Whether a wait until `until` fits: it must end before the deadline.
    #[must_use]
    pub fn fits(&self, until: Monotonic) -> bool {
        self.deadline.is_none_or(|deadline| until < deadline)
    }
}

/// The right to send one attempt, given to a caller that waited. Good for one admission of its generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrantId {
    pub(super) gate: Id,
    pub(super) number: u64,
}
