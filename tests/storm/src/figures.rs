//! What a run is judged by.

use std::time::Duration;

use forbear_core::time::Monotonic;
use serde::{Deserialize, Serialize};

use crate::START;

/// What happened in one run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Peaks count from here.
    pub recovered: Monotonic,
    /// Calls to the vendor that the oracle serves in time.
    pub oracle: usize,
    /// Calls to the vendor.
    pub calls: usize,
    /// Of these, those served in time.
    pub served: usize,
    /// 429s the vendor sent.
    pub limited: usize,
    /// When attempts reached the vendor.
    pub attempts: Vec<Monotonic>,
    /// The longest call.
    pub longest: Duration,
    /// When the last call to the vendor was over.
    pub last: Duration,
    /// Strikes and recoveries.
    pub transitions: Vec<Monotonic>,
    /// When each call to the vendor entered, and whether it was served; not noted by the simulation over the gate alone.
    pub ended: Vec<(Monotonic, bool)>,
    /// Calls to the healthy vendor.
    pub healthy: usize,
    /// Of these, those that were not served, or took longer than one attempt does.
    pub touched: usize,
}

impl Run {
    /// Notes the end of a call.
    pub fn over(&mut self, healthy: bool, served: bool, took: Duration, now: Monotonic) {
        self.longest = self.longest.max(took);
        if healthy {
            self.healthy += 1;
            self.touched += usize::from(!served || took > Duration::from_millis(60));
            return;
        }
        self.calls += 1;
        self.served += usize::from(served);
        self.last = self.last.max(now.since(START));
    }

    /// What is told of the run.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome {
            oracle: self.oracle,
            calls: self.calls,
            served: self.served,
            limited: self.limited,
            peak: most_within(&self.attempts, Duration::from_secs(1), self.recovered),
            longest: self.longest,
            last: self.last,
            restless: most_within(&self.transitions, Duration::from_secs(60), START),
            healthy: self.healthy,
            touched: self.touched,
        }
    }
}

/// What is told of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Calls to the vendor that the oracle serves in time.
    pub oracle: usize,
    /// Calls to the vendor.
    pub calls: usize,
    /// Of these, those served in time.
    pub served: usize,
    /// 429s the vendor sent.
    pub limited: usize,
    /// Most attempts that reached the vendor in any one second after recovery.
    pub peak: usize,
    /// The longest call.
    pub longest: Duration,
    /// When the last call to the vendor was over.
    pub last: Duration,
    /// Most strikes and recoveries in any one minute.
    pub restless: usize,
    /// Calls to the healthy vendor.
    pub healthy: usize,
    /// Of these, those that were not served, or took longer than one attempt does.
    pub touched: usize,
}

/// Most of the sorted `times` from `after` on that lie within one `span`.
fn most_within(times: &[Monotonic], span: Duration, after: Monotonic) -> usize {
    let times = &times[times.partition_point(|at| *at < after)..];
    let ends = |first: usize| times.partition_point(|at| at.since(times[first]) < span);
    (0..times.len()).map(|first| ends(first) - first).max().unwrap_or(0)
}

/// The medians over several runs, each for itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Served, in per cent of the oracle.
    pub percent: f64,
    /// 429s the vendor sent.
    pub limited: f64,
    /// Most attempts that reached the vendor in any one second after recovery.
    pub peak: f64,
    /// The longest call, in seconds.
    pub longest: f64,
    /// When the last call to the vendor was over, in seconds.
    pub last: f64,
    /// Most strikes and recoveries in any one minute.
    pub restless: f64,
    /// Calls to the healthy vendor that felt anything, in per cent.
    pub touched: f64,
}

impl Figures {
    /// The medians of `runs`.
    #[must_use]
    pub fn of(runs: &[Outcome]) -> Self {
        let median = |of: &dyn Fn(&Outcome) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        Self {
            percent: median(&|run| share(run.served, run.oracle)),
            limited: median(&|run| run.limited as f64),
            peak: median(&|run| run.peak as f64),
            longest: median(&|run| run.longest.as_secs_f64()),
            last: median(&|run| run.last.as_secs_f64()),
            restless: median(&|run| run.restless as f64),
            touched: median(&|run| share(run.touched, run.healthy)),
        }
    }

    /// The medians of runs with so many seeds; prints a row.
    pub fn of_seeds(seeds: u64, name: &str, run: impl Fn(u64) -> Run) -> Self {
        let runs: Vec<Outcome> = (1..=seeds).map(|seed| run(seed).outcome()).collect();
        let figures = Self::of(&runs);
        let Self { percent, limited, peak, longest, last, restless, touched } = figures;
        assert!(touched == 0.0, "the healthy vendor's calls are touched: {figures:?}");
        println!(
            "| {name:<26} | served {percent:5.1} % | 429s {limited:4} | peak {peak:3} | longest {longest:5.2} s \
             | all done {last:7.2} s | transitions/min {restless:2} |"
        );
        figures
    }

    /// Fails where a figure is out of bounds.
    ///
    /// # Panics
    /// Then.
    #[track_caller]
    pub fn within(&self, bounds: Bounds) {
        let missed = bounds.missed(self);
        assert!(missed.is_empty(), "{}: {self:?}", missed.join(", "));
    }
}

/// What the three figures must reach.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// At least so much of the oracle, in per cent.
    pub served: f64,
    /// At most so many 429s.
    pub limited: f64,
    /// At most so many attempts in any second after recovery.
    pub peak: f64,
}

impl Bounds {
    /// What is not reached, in words.
    #[must_use]
    pub fn missed(&self, figures: &Figures) -> Vec<String> {
        let Self { served, limited, peak } = self;
        let mut missed = Vec::new();
        if figures.percent < *served {
            missed.push(format!("{:.1} % served, less than {served}", figures.percent));
        }
        if figures.limited > *limited {
            missed.push(format!("{} 429s, more than {limited:.1}", figures.limited));
        }
        if figures.peak > *peak {
            missed.push(format!("{} attempts in a second, more than {peak:.1}", figures.peak));
        }
        missed
    }
}
