use std::time::Duration;

use super::fallback::Fallback;

/// What is stored, and how long it is served past its freshness.
///
/// ```
/// use std::time::Duration;
///
/// use forbear::stale::{Fallback, StalePolicy};
///
/// let policy = StalePolicy::new()
///     .max_stale(Duration::from_secs(6 * 60 * 60))
///     .while_revalidate(Duration::from_secs(60))
///     .patience(Duration::from_millis(300))
///     .fallback(Fallback::json(r#"{"quotes":[]}"#));
/// # let _ = policy;
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct StalePolicy {
    pub(super) max_stale: Duration,
    pub(super) while_revalidate: Duration,
    pub(super) patience: Option<Duration>,
    pub(super) retry_gap: Duration,
    pub(super) no_store: bool,
    pub(super) fallback: Option<Fallback>,
}

/// By which rules it is decided what is stored.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Caching {
    /// As a cache of many users.
    pub(super) shared: bool,
    /// Whether what is marked `no-store` is stored.
    pub(super) no_store: bool,
}

impl Default for StalePolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl StalePolicy {
    /// The defaults, as each setting tells them.
    pub const fn new() -> Self {
        Self {
            max_stale: Duration::from_secs(24 * 60 * 60),
            while_revalidate: Duration::ZERO,
            patience: None,
            retry_gap: Duration::from_secs(1),
            no_store: false,
            fallback: None,
        }
    }

    /// How long past its freshness an answer is served where no new one can be had (24 h): the family cools, the vendor answers with a
    /// signal or a fault, the budget is spent, the client fails. A longer `stale-if-error` of the response (RFC 5861) wins. Never where
    /// the response forbids it (`must-revalidate`, `no-cache`; RFC 9111 section 4.2.4).
    pub const fn max_stale(mut self, longest: Duration) -> Self {
        self.max_stale = longest;
        self
    }

    /// How long past its freshness an answer is served at once while a new one is fetched in the background (0 s). A longer
    /// `stale-while-revalidate` of the response (RFC 5861) wins.
    pub const fn while_revalidate(mut self, longest: Duration) -> Self {
        self.while_revalidate = longest;
        self
    }

    /// With an answer in hand, wait so long for a new one, and then serve the old one; the new one is read in the background
    /// (as long as the budget).
    pub const fn patience(mut self, longest: Duration) -> Self {
        self.patience = Some(longest);
        self
    }

    /// After a failure that closes no family, such as no connection, serve what is stored for so long without asking again (1 s).
    pub const fn retry_gap(mut self, gap: Duration) -> Self {
        self.retry_gap = gap;
        self
    }

    /// Stores also what the vendor marks `no-store` (RFC 9111 section 5.2.2.5). **This goes against what the vendor asks for**: such answers are
    /// often about one person, or too costly to be wrong. It is never served as fresh, only where no new answer can be had. Building the layer says so in a warning.
    pub const fn store_no_store(mut self) -> Self {
        self.no_store = true;
        self
    }

    /// Served where there is neither an answer nor anything stored (none).
    pub fn fallback(mut self, fallback: Fallback) -> Self {
        self.fallback = Some(fallback);
        self
    }
}
