//! What a vendor admits, and how it says no.

mod bucket;
mod fixed;
mod sliding;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::bucket::Bucket;
use self::fixed::Fixed;
use self::sliding::Sliding;
use crate::{Reply, reply};

/// A limit on what a vendor admits, for [`MockVendor::limit`](crate::MockVendor::limit).
///
/// An attempt beyond the limit is refused: the limiter answers, the script does not move. Limits count attempts that
/// were admitted; a refusal costs the vendor nothing. Time is tokio's, from the vendor's first attempt on, and exact
/// to the nanosecond: under a paused clock an attempt that comes when it was told to is admitted.
///
/// | limit | at most | a refusal says |
/// |---|---|---|
/// | [`token_bucket`](Self::token_bucket) | a burst, then one by one as tokens come in | when the next token is there |
/// | [`fixed_window`](Self::fixed_window) | `n` in each window, so up to 2`n` across an edge | when the window ends |
/// | [`sliding_window`](Self::sliding_window) | `n` in any window of that length | when the oldest leaves the window |
/// | [`concurrency`](Self::concurrency) | `n` in flight | nothing: no vendor knows |
///
/// Unless told otherwise a refusal is `429` with that time in `Retry-After`, in seconds rounded up.
///
/// ```
/// use std::time::Duration;
/// use forbear_mock::{Limiter, MockVendor, reply};
///
/// let minute = Duration::from_secs(60);
/// let vendor = MockVendor::in_process()
///     .script(reply(200))
///     .limit(Limiter::sliding_window(100, minute))
///     // A route with a limit of its own, which says so by status alone …
///     .limit(Limiter::fixed_window(5, minute).on("/search").refusal(reply(503)))
///     // … and one that speaks a dialect.
///     .limit(Limiter::token_bucket(1, minute, 3).on("/export").refusal_with(|wait| {
///         reply(429).header("x-retry-after-ms", wait.as_millis().to_string()).json_text(r#"{"code":"rate_limited"}"#)
///     }));
/// # let _ = vendor;
/// ```
pub struct Limiter {
    kind: Kind,
    route: Option<String>,
    refusal: Refusal,
    ban: Option<Ban>,
}

pub(crate) type Refusal = Arc<dyn Fn(Duration) -> Reply + Send + Sync>;

/// A place among those in flight, given back when it is dropped.
pub(crate) type Slot = Arc<()>;

#[derive(Debug)]
struct Ban {
    lasting: Duration,
    /// Counted as the limits count.
    until: Duration,
}

#[derive(Debug)]
enum Kind {
    Bucket(Bucket),
    Fixed(Fixed),
    Sliding(Sliding),
    Concurrency { n: usize, slots: Slot },
}

impl Limiter {
    /// Admits `burst` attempts at once from a full bucket, into which `n` tokens come per `per`, evenly spread.
    ///
    /// # Panics
    ///
    /// When any of them is 0.
    #[track_caller]
    #[must_use]
    pub fn token_bucket(n: u32, per: Duration, burst: u32) -> Self {
        check(n, per);
        check(burst, per);
        Self::new(Kind::Bucket(Bucket::new(n, per, burst)))
    }

    /// Admits `n` attempts in each window; one window follows another from the vendor's first attempt.
    ///
    /// # Panics
    ///
    /// When `n` or the window is 0.
    #[track_caller]
    #[must_use]
    pub fn fixed_window(n: u32, window: Duration) -> Self {
        check(n, window);
        Self::new(Kind::Fixed(Fixed::new(n, window)))
    }

    /// Admits `n` attempts in any window of this length: an attempt counts from when it came until just before
    /// `window` later.
    ///
    /// # Panics
    ///
    /// When `n` or the window is 0.
    #[track_caller]
    #[must_use]
    pub fn sliding_window(n: u32, window: Duration) -> Self {
        check(n, window);
        Self::new(Kind::Sliding(Sliding::new(n, window)))
    }

    /// Admits `n` attempts at a time. One is in flight from its arrival until its answer is through: through the
    /// reply's [`delay`](Reply::delay), and until the body has been sent (in process: read) to its end or dropped.
    /// A client that gives up gives its place back, on a socket as soon as the server sees it.
    ///
    /// # Panics
    ///
    /// When `n` is 0.
    #[track_caller]
    #[must_use]
    pub fn concurrency(n: u32) -> Self {
        check(n, Duration::MAX);
        let kind = Kind::Concurrency { n: usize::try_from(n).unwrap_or(usize::MAX), slots: Slot::default() };
        Self::new(kind).refusal(reply(429))
    }

    /// Limits attempts on one path only. It matches as [`MockVendor::route`](crate::MockVendor::route) does.
    ///
    /// # Panics
    ///
    /// When `path` does not begin with `/` or holds a query.
    #[track_caller]
    #[must_use]
    pub fn on(mut self, path: &str) -> Self {
        crate::vendor::check_route(path);
        self.route = Some(path.to_owned());
        self
    }

    /// Refuses with this reply as it stands: no `Retry-After` but its own.
    #[must_use]
    pub fn refusal(self, reply: Reply) -> Self {
        self.refusal_with(move |_| reply.clone())
    }

    /// Refuses with what `refuse` makes of the time until an attempt would be admitted, if no other comes before it:
    /// for a body or headers of a vendor's own ([`Reply::retry_after_wait`] writes it as seconds). The time is zero
    /// for [`concurrency`](Self::concurrency), where nobody knows it.
    #[must_use]
    pub fn refusal_with(mut self, refuse: impl Fn(Duration) -> Reply + Send + Sync + 'static) -> Self {
        self.refusal = Arc::new(refuse);
        self
    }

    /// Bans whoever passes the limit: every attempt is refused until `lasting` has gone by without one, for each
    /// attempt meanwhile begins the ban anew. A refusal says how long it lasts; [`concurrency`](Self::concurrency)
    /// then says it too, if it is given a [`refusal_with`](Self::refusal_with).
    ///
    /// ```
    /// use std::time::Duration;
    /// use forbear_mock::{Limiter, reply};
    ///
    /// let limit = Limiter::sliding_window(10, Duration::from_secs(1))
    ///     .ban(Duration::from_secs(600))
    ///     .refusal_with(|wait| reply(418).retry_after_wait(wait));
    /// # let _ = limit;
    /// ```
    ///
    /// # Panics
    ///
    /// When `lasting` is 0.
    #[track_caller]
    #[must_use]
    pub fn ban(mut self, lasting: Duration) -> Self {
        assert!(!lasting.is_zero(), "a ban of 0 seconds is none: leave it out");
        self.ban = Some(Ban { lasting, until: Duration::ZERO });
        self
    }

    fn new(kind: Kind) -> Self {
        Self { kind, route: None, refusal: Arc::new(|wait| reply(429).retry_after_wait(wait)), ban: None }
    }

    pub(crate) fn covers(&self, path: &str) -> bool {
        self.route.as_ref().is_none_or(|route| route == path)
    }

    pub(crate) fn answer(&self) -> Refusal {
        Arc::clone(&self.refusal)
    }

    /// The time until an attempt is admitted; `None` when one is now. It takes nothing, but a ban begins here.
    pub(crate) fn wait(&mut self, now: Duration) -> Option<Duration> {
        let banned = self.ban.as_ref().is_some_and(|ban| now < ban.until);
        let wait = if banned { Some(Duration::ZERO) } else { self.kind_wait(now) };
        match (wait, &mut self.ban) {
            (Some(_), Some(ban)) => {
                ban.until = now.saturating_add(ban.lasting);
                Some(ban.lasting)
            }
            _ => wait,
        }
    }

    fn kind_wait(&mut self, now: Duration) -> Option<Duration> {
        match &mut self.kind {
            Kind::Bucket(bucket) => bucket.wait(now),
            Kind::Fixed(window) => window.wait(now),
            Kind::Sliding(window) => window.wait(now),
            // Places are taken under the engine's lock alone, so the count can only fall behind our back.
            Kind::Concurrency { n, slots } => (Arc::strong_count(slots) > *n).then_some(Duration::ZERO),
        }
    }

    /// Admits an attempt that [`wait`](Self::wait) has just said may come.
    pub(crate) fn admit(&mut self, now: Duration) -> Option<Slot> {
        match &mut self.kind {
            Kind::Bucket(bucket) => bucket.take(),
            Kind::Fixed(window) => window.take(),
            Kind::Sliding(window) => window.take(now),
            Kind::Concurrency { slots, .. } => return Some(Arc::clone(slots)),
        }
        None
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("kind", &self.kind)
            .field("route", &self.route)
            .field("ban", &self.ban)
            .finish_non_exhaustive()
    }
}

#[track_caller]
fn check(n: u32, window: Duration) {
    assert!(n > 0, "a limit of 0 admits nothing ever: that is an outage");
    assert!(!window.is_zero(), "a limit per 0 seconds is none: leave it out");
}

const SECOND: u128 = 1_000_000_000;

/// Saturates: no test waits for 500 billion years.
fn from_nanos(nanos: u128) -> Duration {
    let below_a_second = u32::try_from(nanos % SECOND).unwrap_or(0);
    u64::try_from(nanos / SECOND).map_or(Duration::MAX, |secs| Duration::new(secs, below_a_second))
}

#[cfg(test)]
mod tests;
