//! What a run is judged by.

use std::time::Duration;

use forbear_core::time::Monotonic;

use super::START;
use super::scenario::Scenario;
use super::world::run;

/// What one run came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub(crate) recovered: Monotonic,
    /// Calls to the vendor that the oracle serves in time.
    pub(crate) oracle: usize,
    /// Calls to the vendor served in time, of how many.
    pub(crate) served: usize,
    pub(crate) calls: usize,
    /// 429s the vendor sent.
    pub(crate) limited: usize,
    /// When attempts reached the vendor.
    pub(crate) attempts: Vec<Monotonic>,
    /// The longest call.
    pub(crate) longest: Duration,
    /// When the last call to the vendor was over.
    pub(crate) last: Duration,
    /// Strikes and recoveries.
    pub(crate) transitions: Vec<Monotonic>,
    /// When each call to the vendor entered, and whether it was served; noted by the [`layers`](super::layers) alone.
    pub(crate) ended: Vec<(Monotonic, bool)>,
}

impl Run {
    /// Notes the end of a call.
    pub(crate) fn over(&mut self, healthy: bool, served: bool, took: Duration, now: Monotonic) {
        self.longest = self.longest.max(took);
        if healthy {
            assert!(served && took <= Duration::from_millis(60), "the healthy family is touched: {took:?}");
            return;
        }
        self.calls += 1;
        self.served += usize::from(served);
        self.last = self.last.max(now.since(START));
    }

    /// Served, in per cent of the oracle.
    pub(crate) fn percent(&self) -> f64 {
        100.0 * self.served as f64 / self.oracle.max(1) as f64
    }

    /// Most attempts that reached the vendor in any one second after recovery.
    pub(crate) fn peak(&self) -> usize {
        most_within(&self.attempts, Duration::from_secs(1), self.recovered)
    }

    /// Most strikes and recoveries in any one minute.
    pub(crate) fn restless(&self) -> usize {
        most_within(&self.transitions, Duration::from_secs(60), START)
    }
}

/// Most of the sorted `times` from `after` on that lie within one `span`.
fn most_within(times: &[Monotonic], span: Duration, after: Monotonic) -> usize {
    let times = &times[times.partition_point(|at| *at < after)..];
    let ends = |first: usize| times.partition_point(|at| at.since(times[first]) < span);
    (0..times.len()).map(|first| ends(first) - first).max().unwrap_or(0)
}

/// The median figures of several runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) percent: f64,
    pub(crate) limited: f64,
    pub(crate) peak: f64,
    pub(crate) longest: f64,
    pub(crate) last: f64,
    pub(crate) restless: f64,
}

/// Simulates `scenario` over the gate alone: see [`figures_of`].
pub(crate) fn figures(name: &str, scenario: &Scenario) -> Figures {
    figures_of(run, 5, name, scenario)
}

/// Runs `scenario` with so many seeds, prints a row, and returns the medians.
pub(crate) fn figures_of(
    run: fn(&Scenario, u64) -> Run,
    seeds: u64,
    name: &str,
    scenario: &Scenario,
) -> Figures {
    let runs: Vec<Run> = (1..=seeds).map(|seed| run(scenario, seed)).collect();
    let median = |of: &dyn Fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let figures = Figures {
        percent: median(&Run::percent),
        limited: median(&|run| run.limited as f64),
        peak: median(&|run| run.peak() as f64),
        longest: median(&|run| run.longest.as_secs_f64()),
        last: median(&|run| run.last.as_secs_f64()),
        restless: median(&|run| run.restless() as f64),
    };
    let Figures { percent, limited, peak, longest, last, restless } = figures;
    println!(
        "| {name:<26} | served {percent:5.1} % | 429s {limited:4} | peak {peak:3} | longest {longest:5.2} s \
         | all done {last:7.2} s | transitions/min {restless:2} |"
    );
    figures
}

/// What the three figures must reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// At least so much of the oracle, in per cent.
    pub(crate) served: f64,
    /// At most so many 429s.
    pub(crate) limited: f64,
    /// At most so many attempts in any second after recovery.
    pub(crate) peak: f64,
}

impl Figures {
    /// Fails where a figure is out of bounds.
    #[track_caller]
    pub(crate) fn within(&self, bounds: Bounds) {
        let Bounds { served, limited, peak } = bounds;
        assert!(self.percent >= served, "fewer than {served} % served: {self:?}");
        assert!(self.limited <= limited, "more than {limited} 429s: {self:?}");
        assert!(self.peak <= peak, "more than {peak} attempts in a second: {self:?}");
    }
}
