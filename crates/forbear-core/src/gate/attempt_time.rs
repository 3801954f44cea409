use std::time::Duration;

/// How long a vendor takes to answer: moving averages of the time (1/8) and of its deviation (1/4) over good answers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct AttemptTime {
    mean: f64,
    deviation: f64,
    samples: u32,
}

impl AttemptTime {
    /// Counts one good answer that took `took`.
    pub(super) fn answered_in(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        if self.samples == 0 {
            self.mean = took;
        } else {
            self.deviation += ((took - self.mean).abs() - self.deviation) / 4.0;
            self.mean += (took - self.mean) / 8.0;
        }
        self.samples = self.samples.saturating_add(1);
    }

    /// Takes in what another place measured in the meantime: the more answers it saw, the more it counts.
    pub(super) fn absorb(&mut self, mean: Duration, deviation: Duration, samples: u32) {
        if samples == 0 {
            return;
        }
        let weight = if self.samples == 0 { 1.0 } else { f64::from(samples.min(8)) / 8.0 };
        self.mean += (mean.as_secs_f64() - self.mean) * weight;
        self.deviation += (deviation.as_secs_f64() - self.deviation) * weight;
        self.samples = self.samples.saturating_add(samples);
    }

    /// The mean in seconds; 50 ms before the first answer.
    pub(super) fn mean(&self) -> f64 {
        if self.samples == 0 { 0.05 } else { self.mean.max(1e-6) }
    }

    /// What must be left of a budget for an answer to be likely: the mean and four mean deviations.
    pub(super) fn needed(&self) -> Duration {
        Duration::try_from_secs_f64(4.0_f64.mul_add(self.deviation, self.mean())).unwrap_or(Duration::MAX)
    }

    pub(super) fn parts(&self) -> (Duration, Duration, u32) {
        let duration = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        (duration(self.mean), duration(self.deviation), self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// In milliseconds, as tests compare them.
    fn told(time: &AttemptTime) -> (u128, u128, u32) {
        let (mean, deviation, samples) = time.parts();
        let rounded = |duration: Duration| duration.saturating_add(Duration::from_micros(500)).as_millis();
        (rounded(mean), rounded(deviation), samples)
    }

    #[test]
    fn averages_move_by_an_eighth_and_the_deviation_by_a_quarter() {
        let mut time = AttemptTime::default();
        assert_eq!((time.mean(), time.needed()), (0.05, ms(50)));
        time.answered_in(ms(800));
        assert_eq!(told(&time), (800, 0, 1));
        time.answered_in(ms(1600));
        assert_eq!(told(&time), (900, 200, 2));
        time.answered_in(ms(100));
        assert_eq!(told(&time), (800, 350, 3));
        assert_eq!(time.needed().as_millis(), 800 + 4 * 350);
    }

    #[test]
    fn what_another_place_measured_counts_by_its_answers() {
        let mut time = AttemptTime::default();
        time.absorb(ms(999), ms(999), 0);
        assert_eq!(told(&time), (0, 0, 0));
        // The first there is counts in full.
        time.absorb(ms(800), ms(100), 2);
        assert_eq!(told(&time), (800, 100, 2));
        time.absorb(ms(400), ms(500), 4);
        assert_eq!(told(&time), (600, 300, 6));
        time.absorb(ms(100), ms(20), 80);
        assert_eq!(told(&time), (100, 20, 86));
    }
}
