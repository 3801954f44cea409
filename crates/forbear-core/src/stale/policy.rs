use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::request::Parts;

use super::fallback::Fallback;

/// What is stored of a family, and how long it is served past its freshness.
///
/// ```
/// use std::time::Duration;
///
/// use forbear_core::families::Family;
/// use forbear_core::stale::{Fallback, StalePolicy};
///
/// let policy = StalePolicy::new()
///     .max_stale(Duration::from_secs(6 * 60 * 60))
///     .while_revalidate(Duration::from_secs(60))
///     .patience(Duration::from_millis(300))
///     .fallback(Fallback::json(r#"{"quotes":[]}"#));
/// let quotes = Family::new("quotes").host("quotes.example").stale(policy);
/// # let _ = quotes;
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct StalePolicy {
    max_stale: Duration,
    while_revalidate: Duration,
    patience: Option<Duration>,
    retry_gap: Duration,
    no_store: bool,
    fallback: Option<Fallback>,
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
    /// often about one person, or too costly to be wrong. It is never served as fresh, only where no new answer can be had. A warning says so
    /// when the first of a family is stored.
    pub const fn store_no_store(mut self) -> Self {
        self.no_store = true;
        self
    }

    /// Served where there is neither an answer nor anything stored (none).
    pub fn fallback(mut self, fallback: Fallback) -> Self {
        self.fallback = Some(fallback);
        self
    }

    /// Whether an answer that is past its freshness `by` so much may be served where there is no new one; `said` is its own
    /// `stale-if-error`.
    #[must_use]
    pub fn serves(&self, by: Duration, said: Option<Duration>) -> bool {
        by <= self.max_stale.max(said.unwrap_or_default())
    }

    /// Whether it may be served at once, while a new one is fetched; `said` is its own `stale-while-revalidate`.
    #[must_use]
    pub fn serves_at_once(&self, by: Duration, said: Option<Duration>) -> bool {
        let longest = self.while_revalidate.max(said.unwrap_or_default());
        !longest.is_zero() && by <= longest
    }

    /// How long a new answer is waited for with an old one in hand; `None` where that is the budget's alone.
    #[must_use]
    pub const fn waits(&self) -> Option<Duration> {
        self.patience
    }

    /// How long after a failure nothing is asked again, where there is an old answer.
    #[must_use]
    pub const fn rests(&self) -> Duration {
        self.retry_gap
    }

    /// Whether what is marked `no-store` is stored.
    #[must_use]
    pub const fn stores_no_store(&self) -> bool {
        self.no_store
    }

    /// What there is for a request for which there is nothing else.
    #[must_use]
    pub fn substitute(&self, head: &Parts) -> Option<Response<Bytes>> {
        self.fallback.as_ref()?.make(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_longer_of_policy_and_response_holds_to_the_moment() {
        let policy = StalePolicy::new().max_stale(10 * SECOND).while_revalidate(5 * SECOND);
        for (by, said, serves, at_once) in [
            (5, None, true, true),
            (6, None, true, false),
            (10, None, true, false),
            (11, None, false, false),
            (11, Some(11), true, true),
            (12, Some(11), false, false),
            (10, Some(1), true, false),
        ] {
            let said = said.map(|said| said * SECOND);
            assert_eq!(policy.serves(by * SECOND, said), serves, "{by} {said:?}");
            assert_eq!(policy.serves_at_once(by * SECOND, said), at_once, "{by} {said:?}");
        }
        let never = StalePolicy::new().max_stale(Duration::ZERO);
        assert!(never.serves(Duration::ZERO, None) && !never.serves_at_once(Duration::ZERO, None));
        let always = StalePolicy::new().max_stale(Duration::MAX).while_revalidate(Duration::MAX);
        assert!(always.serves(Duration::MAX, None) && always.serves_at_once(Duration::MAX, None));
    }
}
