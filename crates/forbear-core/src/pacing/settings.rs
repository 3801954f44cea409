use std::time::Duration;

use crate::health::Short;

use super::retry_quota::RetryQuota;

/// As many windows a family may have.
const MOST_WINDOWS: usize = 8;
/// The longest span that is paced: beyond, it is a quota, and waiting for it is not pacing.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How a family is called before any signal arrives. Every setter takes and returns the value; all limits that are set hold
/// together.
///
/// ```
/// # use std::time::Duration;
/// # use forbear_core::families::{Families, Family};
/// # use forbear_core::pacing::Pacing;
/// let pacing = Pacing::new().at_most(100, Duration::from_secs(60)).in_flight(8).margin(Duration::from_millis(30));
/// let families = Families::builder().family(Family::new("mail").host("api.mail.example").pacing(pacing)).build()?;
/// # let _ = families;
/// # Ok::<(), forbear_core::families::InvalidFamilies>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pacing {
    pub(super) gap: Duration,
    pub(super) windows: Vec<(u32, Duration)>,
    pub(super) in_flight: Option<u32>,
    pub(super) margin: Duration,
    pub(super) queue: usize,
    pub(super) background_share: u8,
    pub(super) steered: bool,
    pub(super) retry_quota: Option<RetryQuota>,
    pub(super) per_partition: Option<Box<Pacing>>,
}

impl Pacing {
    /// No limit yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            gap: Duration::ZERO,
            windows: Vec::new(),
            in_flight: None,
            margin: Duration::ZERO,
            queue: 10_000,
            background_share: 10,
            steered: false,
            retry_quota: None,
            per_partition: None,
        }
    }

    /// Two attempts are never closer than that, whatever they cost.
    #[must_use]
    pub const fn gap(mut self, gap: Duration) -> Self {
        self.gap = gap;
        self
    }

    /// At most `cost` in any span of length `per`, both of its ends included; attempts, where each [costs](super::Entry::cost)
    /// one. May be given several times, such as 10 a second and 1,000 an hour.
    #[must_use]
    pub fn at_most(mut self, cost: u32, per: Duration) -> Self {
        self.windows.push((cost, per));
        self
    }

    /// At most so many attempts at a time, each until its response's body ends or is dropped.
    #[must_use]
    pub const fn in_flight(mut self, attempts: u32) -> Self {
        self.in_flight = Some(attempts);
        self
    }

    /// Added to the gap and to the span of every window (0 s), for what the network does to the time between two attempts:
    /// they are spaced where they leave, and counted where they arrive. Set it, to the time of a handshake at least: attempts that
    /// open connections arrive later than those that follow on them.
    #[must_use]
    pub const fn margin(mut self, margin: Duration) -> Self {
        self.margin = margin;
        self
    }

    /// How many attempts may wait at a time (10,000); more are refused.
    #[must_use]
    pub const fn queue(mut self, most: usize) -> Self {
        self.queue = most;
        self
    }

    /// The share of attempts that background ones have at least while some wait, in percent (10: at least one in ten), 0 to 90.
    #[must_use]
    pub const fn background_share(mut self, percent: u8) -> Self {
        self.background_share = percent;
        self
    }

    /// Lets the vendor steer (off). What it says is left is spread over the time until there is more, never faster than
    /// configured. And a signal that too much is in flight (`inflight_limit`, `*-concurrency`) halves what may be in flight
    /// instead of closing the family, and good answers raise it again by one for each round of them. Once only one is left
    /// in flight, such a signal closes the family as any other.
    #[must_use]
    pub const fn steered(mut self, on: bool) -> Self {
        self.steered = on;
        self
    }

    /// Bounds further attempts by good answers (off), over the whole family.
    #[must_use]
    pub const fn retry_quota(mut self, quota: RetryQuota) -> Self {
        self.retry_quota = Some(quota);
        self
    }

    /// Limits that each partition has for itself, such as each credential: an attempt needs those of its partition and those
    /// of the family. An attempt without a partition needs the family's alone. What is set outside this holds for all
    /// partitions together; the larger of both margins holds. With `steered` in it what the vendor says is left is the
    /// partition's that was asked with. At most 10,000 partitions are told apart; what finds no room shares one.
    #[must_use]
    pub fn per_partition(mut self, each: Self) -> Self {
        self.per_partition = Some(Box::new(each));
        self
    }

    /// The limits that each partition has for itself. The network is the same for all, so the family's margin holds there too.
    pub(super) fn of_each_partition(&self) -> Option<Self> {
        let each = self.per_partition.as_deref()?.clone();
        let margin = each.margin.max(self.margin);
        Some(each.margin(margin))
    }

    /// Whether answers are of interest: good ones, or what they say is left.
    pub(super) fn learns(&self) -> bool {
        let by_part = self.per_partition.as_ref().is_some_and(|each| each.steered);
        self.steered || by_part || self.retry_quota.is_some()
    }

    /// Its limits, to read.
    pub(crate) fn limits(&self) -> Vec<String> {
        let windows = self.windows.iter().map(|(cost, per)| format!("{cost} per {}", Short(*per)));
        let gap = (!self.gap.is_zero()).then(|| format!("gap {:?}", self.gap));
        let in_flight = self.in_flight.map(|attempts| format!("{attempts} in flight"));
        let each = self.per_partition.iter().flat_map(|each| each.limits());
        let each = each.map(|limit| format!("{limit} per partition"));
        windows.chain(gap).chain(in_flight).chain(each).collect()
    }

    /// Whether it limits nothing by itself.
    pub(super) fn is_unlimited(&self) -> bool {
        self.gap.is_zero() && self.windows.is_empty() && self.in_flight.is_none() && !self.steered
    }

    /// Says which setting cannot work, and what is allowed.
    ///
    /// # Errors
    /// `(key, what is wrong)` for the first bad value.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.is_unlimited() && self.retry_quota.is_none() && self.per_partition.is_none() {
            return Err((
                "pacing",
                "without a limit; give it at_most, gap, in_flight, steered or retry_quota, or leave it out"
                    .into(),
            ));
        }
        for (key, span) in [("gap", self.gap), ("margin", self.margin)] {
            if span > LONGEST {
                return Err((key, format!("{span:?}; it must be at most 366 days")));
            }
        }
        if self.windows.len() > MOST_WINDOWS {
            return Err(("at_most", format!("given {} times; 8 is the most", self.windows.len())));
        }
        for (cost, per) in &self.windows {
            if *cost == 0 || per.is_zero() || *per > LONGEST {
                let why = "both must be more than zero, and the span at most 366 days";
                return Err(("at_most", format!("{cost} per {per:?}; {why}")));
            }
        }
        if self.in_flight == Some(0) {
            return Err(("in_flight", "0; it must be more than zero; leave it out for no limit".into()));
        }
        if self.background_share > 90 {
            let share = self.background_share;
            return Err(("background_share", format!("{share} %; it must be 0 to 90")));
        }
        self.retry_quota.as_ref().map_or(Ok(()), RetryQuota::check)?;
        self.per_partition.as_deref().map_or(Ok(()), Self::check_part)
    }

    fn check_part(&self) -> Result<(), (&'static str, String)> {
        if self.per_partition.is_some() {
            return Err(("per_partition", "given within itself; once is enough".into()));
        }
        if self.retry_quota.is_some() {
            return Err(("per_partition", "given a retry_quota; that is for the whole family".into()));
        }
        self.check().map_err(|(key, why)| ("per_partition", format!("wrong: {key} is {why}")))
    }
}

impl Default for Pacing {
    fn default() -> Self {
        Self::new()
    }
}
