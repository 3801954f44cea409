use std::time::Duration;

use super::ladder::Ladder;

/// The numbers a gate decides by. Every setter takes and returns the value.
#[derive(Debug, Clone, PartialEq)]
pub struct GateSettings {
    pub(super) throttled: Ladder,
    pub(super) overloaded: Ladder,
    pub(super) max_advertised: Duration,
    pub(super) attempt_timeout: Duration,
    pub(super) recheck: Option<Duration>,
    pub(super) max_waiters: usize,
}

impl GateSettings {
    /// The settings of a registered family: a vendor that throttles without a delay is left alone for
    /// 2, 5, 15, 30, 60 minutes; one that is overloaded for 5 s, doubling to 5 min.
    #[must_use]
    pub fn registered() -> Self {
        Self {
            throttled: Ladder::throttled(),
            overloaded: Ladder::overloaded(),
            max_advertised: Duration::from_secs(24 * 60 * 60),
            attempt_timeout: Duration::from_secs(30),
            recheck: None,
            max_waiters: 10_000,
        }
    }

    /// The settings of an automatic per-host family: the short ladder for every class, since nobody said how this
    /// vendor behaves.
    #[must_use]
    pub fn automatic() -> Self {
        Self { throttled: Ladder::overloaded(), ..Self::registered() }
    }

    /// The cool-downs after `Throttled` signals without an advertised delay.
    #[must_use]
    pub fn throttled_ladder(mut self, ladder: Ladder) -> Self {
        self.throttled = ladder;
        self
    }

    /// The cool-downs after `Overloaded` signals without an advertised delay.
    #[must_use]
    pub fn overloaded_ladder(mut self, ladder: Ladder) -> Self {
        self.overloaded = ladder;
        self
    }

    /// The longest cool-down that is recorded, whatever a vendor advertises (24 h).
    #[must_use]
    pub fn max_advertised(mut self, longest: Duration) -> Self {
        self.max_advertised = longest;
        self
    }

    /// How long a probe may stay unanswered before the next one goes out (30 s).
    #[must_use]
    pub fn attempt_timeout(mut self, lease: Duration) -> Self {
        self.attempt_timeout = lease;
        self
    }

    /// Sends one probe every `every` within a longer advertised cool-down (off). For vendors that advertise far too
    /// much and recover early.
    #[must_use]
    pub fn recheck(mut self, every: Duration) -> Self {
        self.recheck = Some(every);
        self
    }

    /// How many callers may wait for this gate at a time (10,000); more are refused.
    #[must_use]
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.max_waiters = most;
        self
    }

    /// Says which setting cannot work, and what is allowed.
    ///
    /// # Errors
    /// `(key, what is wrong)` for the first bad value.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        self.throttled.check().map_err(|why| ("throttled_ladder", why))?;
        self.overloaded.check().map_err(|why| ("overloaded_ladder", why))?;
        if self.max_advertised.is_zero() {
            return Err(("max_advertised", "0 s; it must be more than zero".into()));
        }
        if self.attempt_timeout.is_zero() {
            return Err((
                "attempt_timeout",
                "0 s; it must be more than zero, or no probe ever gets an answer".into(),
            ));
        }
        if self.recheck.is_some_and(|every| every.is_zero()) {
            return Err(("recheck", "0 s; it must be more than zero; leave it out to turn it off".into()));
        }
        Ok(())
    }
}

impl Default for GateSettings {
    fn default() -> Self {
        Self::registered()
    }
}
