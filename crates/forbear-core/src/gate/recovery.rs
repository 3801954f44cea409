use std::time::Duration;

use crate::time::Monotonic;

use super::attempt_time::AttemptTime;

/// A bucket holds this much of the pace, and at least one attempt.
const BUCKET_SECONDS: f64 = 0.05;
const FASTEST: f64 = 1e9;
const SLOWEST: f64 = 1e-9;

/// How the pace grows while somebody waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Curve {
    /// After service: w·(1 + 0.1·(t/K − 1)³) comes back to the learned pace w within K, then tries more.
    Learned { w: f64, k: f64 },
    /// After blind strikes the pace that was learned before stands: w·(1 + 0.1·(t/10 s)³).
    Kept { w: f64 },
    /// Nothing is known: (2/T)·2^(t/T), T the attempt time.
    Unknown { t: f64 },
}

impl Curve {
    /// Attempts per second at `clock` seconds.
    fn pace(self, clock: f64) -> f64 {
        let pace = match self {
            Self::Learned { w, k } => w * 0.1_f64.mul_add((clock / k - 1.0).powi(3), 1.0),
            Self::Kept { w } => w * 0.1_f64.mul_add((clock / 10.0).powi(3), 1.0),
            Self::Unknown { t } => 2.0 / t * (clock / t).exp2(),
        };
        if pace.is_nan() { SLOWEST } else { pace.clamp(SLOWEST, FASTEST) }
    }

    /// Seconds until `attempts` more may go, from `clock` on.
    fn seconds_for(self, attempts: f64, clock: f64) -> f64 {
        let pace = self.pace(clock);
        match self {
            Self::Unknown { t } => t * (1.0 + attempts * std::f64::consts::LN_2 / (pace * t)).log2(),
            _ => attempts / pace,
        }
    }
}

/// The time after a good probe, in which a family is called at a pace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recovery {
    curve: Curve,
    /// Seconds of the curve; they pass only while somebody waits.
    clock: f64,
    tokens: f64,
    at: Monotonic,
    /// A caller that could not wait was refused: the clock runs until then.
    runs_until: Monotonic,
    /// The last time at which somebody had to wait.
    waited: Monotonic,
    quiet: Duration,
}

impl Recovery {
    /// Begins at `now`. `last` is the length of the cool-down before it.
    pub(super) fn new(
        w: Option<f64>,
        informed: bool,
        last: Duration,
        time: &AttemptTime,
        now: Monotonic,
    ) -> Self {
        let at_least = Duration::from_secs(10);
        let curve = match w {
            Some(w) if informed => {
                Curve::Learned { w, k: last.saturating_mul(20).max(at_least).as_secs_f64() }
            }
            Some(w) => Curve::Kept { w },
            None => Curve::Unknown { t: time.mean() },
        };
        let quiet = last.saturating_mul(2).max(at_least);
        let mut recovery = Self {
            curve,
            clock: 0.0,
            tokens: 0.0,
            at: now,
            runs_until: Monotonic::ORIGIN,
            waited: now,
            quiet,
        };
        recovery.tokens = recovery.most();
        recovery
    }

    fn most(&self) -> f64 {
        (self.pace() * BUCKET_SECONDS).max(1.0)
    }

    /// Attempts per second at present.
    pub(super) fn pace(&self) -> f64 {
        self.curve.pace(self.clock)
    }

    /// Lets time pass until `now`; `waiting` says whether somebody waited all the while.
    pub(super) fn advance(&mut self, waiting: bool, now: Monotonic) {
        if now <= self.at {
            return;
        }
        let passed = now.since(self.at).as_secs_f64();
        let ran = if waiting { passed } else { self.runs_until.min(now).since(self.at).as_secs_f64() };
        let before = self.pace();
        self.clock += ran;
        self.tokens += passed * f64::midpoint(before, self.pace());
        self.tokens = self.tokens.min(self.most());
        if waiting {
            self.waited = now;
        }
        self.at = now;
    }

    /// Whether nobody had to wait for so long that the family is open again.
    pub(super) fn over(&self, now: Monotonic) -> bool {
        now.since(self.waited) >= self.quiet
    }

    /// Takes the right to send one attempt.
    pub(super) fn take(&mut self) -> bool {
        let free = self.has_token();
        if free {
            self.tokens -= 1.0;
        }
        free
    }

    pub(super) fn has_token(&self) -> bool {
        self.has_token_behind(0)
    }

    /// Whether one is left for a caller with `ahead` others before it, when each of them has taken its own.
    pub(super) fn has_token_behind(&self, ahead: usize) -> bool {
        self.wanting(ahead) <= 1e-6
    }

    /// What is missing to a token for a caller with `ahead` others before it.
    fn wanting(&self, ahead: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 callers wait")]
        let needed = ahead as f64 + 1.0;
        (needed - self.tokens).max(0.0)
    }

    /// Gives back a right that was not used.
    pub(super) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.most());
    }

    /// When a caller with `ahead` others before it is served at the present pace.
    pub(super) fn turn(&self, ahead: usize) -> Monotonic {
        let seconds = self.curve.seconds_for(self.wanting(ahead), self.clock);
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        // A wait that rounds to nothing would be asked for again and again without the time moving on.
        let least = Duration::from_nanos(u64::from(!self.has_token_behind(ahead)));
        self.at.after(wait.max(least))
    }

    /// Somebody was refused for want of a place at `now`: counts as having had to wait, and runs the clock for 1 s.
    /// Returns what [`Recovery::unrefused`] needs.
    pub(super) fn refused(&mut self, now: Monotonic) {
        self.waited = self.waited.max(now);
        self.runs_until = self.runs_until.max(now.after(Duration::from_secs(1)));
    }

    /// The caller that was refused at `at` waits instead.
    pub(super) fn unrefused(&mut self, at: Monotonic) {
        if self.runs_until == at.after(Duration::from_secs(1)) {
            self.runs_until = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: f64) -> Monotonic {
        Monotonic::ORIGIN.after(Duration::from_secs_f64(seconds))
    }

    #[test]
    fn a_learned_pace_starts_a_tenth_lower_and_is_back_after_k() {
        let time = AttemptTime::default();
        let mut recovery = Recovery::new(Some(100.0), true, Duration::from_secs(1), &time, secs(0.0));
        assert!((recovery.pace() - 90.0).abs() < 1e-9);
        recovery.advance(true, secs(20.0));
        assert!((recovery.pace() - 100.0).abs() < 1e-9);
        recovery.advance(true, secs(40.0));
        assert!((recovery.pace() - 110.0).abs() < 1e-9);
    }

    #[test]
    fn after_blind_strikes_the_pace_stands() {
        let recovery =
            Recovery::new(Some(7.0), false, Duration::from_secs(1), &AttemptTime::default(), secs(0.0));
        assert!((recovery.pace() - 7.0).abs() < 1e-9);
    }

    #[test]
    fn an_unknown_pace_doubles_every_attempt_time() {
        let mut recovery = Recovery::new(None, true, Duration::ZERO, &AttemptTime::default(), secs(0.0));
        assert!((recovery.pace() - 40.0).abs() < 1e-9);
        recovery.advance(true, secs(0.1));
        assert!((recovery.pace() - 160.0).abs() < 1e-9);
        recovery.advance(true, secs(1e6));
        assert!((recovery.pace() - FASTEST).abs() < 1.0);
    }

    #[test]
    fn as_many_attempts_may_go_by_then_as_the_pace_adds_up_to() {
        for (t, clock, attempts) in [(0.05, 0.0, 10.0), (0.05, 0.1, 3.0), (2.0, 1.0, 40.0)] {
            let curve = Curve::Unknown { t };
            let step = curve.seconds_for(attempts, clock) / 1e4;
            let paces = (0..10_000).map(|steps| curve.pace(step.mul_add(f64::from(steps) + 0.5, clock)));
            let gone = paces.sum::<f64>() * step;
            assert!((gone / attempts - 1.0).abs() < 1e-3, "{gone} of {attempts}");
        }
    }

    #[test]
    fn the_clock_stands_while_nobody_waits_and_recovery_ends() {
        let time = AttemptTime::default();
        let mut recovery = Recovery::new(None, true, Duration::from_secs(1), &time, secs(0.0));
        recovery.advance(false, secs(5.0));
        assert!((recovery.pace() - 40.0).abs() < 1e-9);
        assert!(!recovery.over(secs(9.9)) && recovery.over(secs(10.0)));
        recovery.refused(secs(5.0));
        recovery.advance(false, secs(9.0));
        assert!((recovery.clock - 1.0).abs() < 1e-9);
        assert!(!recovery.over(secs(10.0)) && recovery.over(secs(15.0)));
    }

    #[test]
    fn a_turn_that_has_not_come_lies_ahead() {
        let time = AttemptTime::default();
        let mut recovery = Recovery::new(None, true, Duration::ZERO, &time, secs(0.0));
        let mut now = secs(0.0);
        for _ in 0..100_000 {
            if !recovery.take() {
                let turn = recovery.turn(0);
                assert!(turn > now, "{:?} at {}/s", turn, recovery.pace());
                now = turn;
                recovery.advance(true, now);
            }
        }
    }

    #[test]
    fn a_place_is_served_when_it_was_said() {
        let mut recovery =
            Recovery::new(Some(10.0), false, Duration::from_secs(1), &AttemptTime::default(), secs(0.0));
        assert!(recovery.take());
        assert!(!recovery.take());
        let turn = recovery.turn(0);
        assert_eq!(turn, secs(0.1));
        recovery.advance(false, turn);
        assert!(recovery.take());
        assert_eq!(recovery.turn(4).since(turn).as_millis(), 500);
    }
}
