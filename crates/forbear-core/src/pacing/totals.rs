use super::refusal::PacingCause;

/// What a pacer did since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacingTotals {
    /// Attempts that waited in the queue, however it ended.
    pub waited: u64,
    /// Times that the vendor's word made it slower: what is left, or a signal that too much is in flight.
    pub steered: u64,
    pub(crate) refusals: [u64; PacingCause::ALL.len()],
}

impl PacingTotals {
    /// Refusals given for this cause.
    #[must_use]
    pub fn refusals(&self, cause: PacingCause) -> u64 {
        self.refusals.get(cause as usize).copied().unwrap_or_default()
    }

    /// Refusals of every cause.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refusals.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub(super) fn refusal(&mut self, cause: PacingCause) {
        if let Some(count) = self.refusals.get_mut(cause as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// These and the others together.
    #[must_use]
    pub(super) fn and(self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    #[must_use]
    pub(crate) fn with(mut self, other: &Self, merge: impl Fn(u64, u64) -> u64) -> Self {
        self.waited = merge(self.waited, other.waited);
        self.steered = merge(self.steered, other.steered);
        for (mine, other) in self.refusals.iter_mut().zip(other.refusals) {
            *mine = merge(*mine, other);
        }
        self
    }
}
