use std::time::Duration;

/// The highest level a family can reach.
pub const TOP_LEVEL: u8 = 7;

/// The cool-downs for repeated signals without an advertised delay, one per level, starting at level 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder(Box<[Duration]>);

impl Ladder {
    /// A ladder with these rungs. Levels beyond its end stay on its last rung.
    #[must_use]
    pub fn new(rungs: impl IntoIterator<Item = Duration>) -> Self {
        Self(rungs.into_iter().collect())
    }

    /// 2, 5, 15, 30, 60 minutes.
    #[must_use]
    pub fn throttled() -> Self {
        Self::new([2, 5, 15, 30, 60].map(|minutes: u64| Duration::from_secs(minutes.saturating_mul(60))))
    }

    /// 5 s doubling to 5 minutes.
    #[must_use]
    pub fn overloaded() -> Self {
        Self::new([5, 10, 20, 40, 80, 160, 300].map(Duration::from_secs))
    }

    /// The cool-down at `level`; level 0 reads as level 1.
    #[must_use]
    pub fn rung(&self, level: u8) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let at = usize::from(level.saturating_sub(1)).min(last);
        self.0.get(at).copied().unwrap_or(Duration::ZERO)
    }

    /// The level of the last rung.
    #[must_use]
    pub fn top(&self) -> u8 {
        u8::try_from(self.0.len()).unwrap_or(TOP_LEVEL).min(TOP_LEVEL)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("empty; give at least one duration".into());
        }
        if self.0.len() > usize::from(TOP_LEVEL) {
            return Err(format!("{} rungs long; give at most {TOP_LEVEL}", self.0.len()));
        }
        if self.0.iter().any(Duration::is_zero) {
            return Err("a ladder with a rung of 0 s; every rung must be more than zero".into());
        }
        if self.0.is_sorted() {
            Ok(())
        } else {
            Err("a ladder that goes down; give its rungs in rising order".into())
        }
    }
}

/// The factor of the stretch at `level`: N, N, 2N, 4N at levels 1, 2, 3, 4 and above.
pub(super) const fn stretch(level: u8) -> u32 {
    match level {
        0..=2 => 1,
        3 => 2,
        _ => 4,
    }
}

/// The shortest cool-down at `level`: 250 ms, doubling per level to 8 s.
pub(super) fn floor(level: u8) -> Duration {
    let doublings = u32::from(level.saturating_sub(1)).min(5);
    Duration::from_millis(250_u64.saturating_mul(1 << doublings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_beyond_the_ladder_stays_on_its_last_rung() {
        let ladder = Ladder::throttled();
        let minutes: Vec<u64> = (1..=TOP_LEVEL).map(|level| ladder.rung(level).as_secs() / 60).collect();
        assert_eq!(minutes, [2, 5, 15, 30, 60, 60, 60]);
        assert_eq!(Ladder::overloaded().rung(TOP_LEVEL), Duration::from_secs(300));
    }

    #[test]
    fn the_floor_doubles_to_eight_seconds() {
        let floors: Vec<u128> = (1..=TOP_LEVEL).map(|level| floor(level).as_millis()).collect();
        assert_eq!(floors, [250, 500, 1000, 2000, 4000, 8000, 8000]);
    }

    #[test]
    fn a_ladder_that_cannot_work_is_named() {
        assert!(Ladder::new([]).check().unwrap_err().contains("empty"));
        assert!(Ladder::new([Duration::ZERO]).check().unwrap_err().contains("0 s"));
        assert!(Ladder::new([2, 1].map(Duration::from_secs)).check().unwrap_err().contains("rising order"));
        assert!(Ladder::new([Duration::from_secs(1); 8]).check().unwrap_err().contains("at most 7"));
    }
}
