//! What a scenario consists of: load, vendor, and how its figures are measured.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use forbear_core::gate::GateSettings;
use forbear_core::time::Monotonic;

use super::START;
use super::vendor::Vendor;

/// One situation.
pub(crate) struct Scenario {
    /// Makes the vendor anew, for the run and for the oracle.
    pub(crate) vendor: fn() -> Box<dyn Vendor>,
    /// When calls to the vendor enter.
    pub(crate) load: Load,
    /// The budget of every call.
    pub(crate) deadline: Duration,
    /// How long a good answer takes from the vendor to the caller, give or take 10 ms.
    pub(crate) back: Duration,
    /// Processes that share nothing; calls go to them in turn.
    pub(crate) replicas: usize,
    pub(crate) settings: GateSettings,
    /// Peaks count from here.
    pub(crate) recovered: Monotonic,
    /// These calls are never polled again after so many looks of their wait.
    pub(crate) frozen: (std::ops::Range<usize>, u32),
}

/// When calls to the vendor enter.
pub(crate) enum Load {
    /// Poisson arrivals: (calls per second, for so long), one after another.
    Poisson(Vec<(f64, Duration)>),
    /// So many, spread evenly over so long.
    Burst(usize, Duration),
    /// So many, each when the one before it is over.
    OneByOne(usize),
}

impl Scenario {
    pub(crate) fn new(vendor: fn() -> Box<dyn Vendor>, load: Load) -> Self {
        Self {
            vendor,
            load,
            deadline: Duration::from_secs(30),
            back: Duration::from_millis(25),
            replicas: 1,
            settings: GateSettings::automatic(),
            recovered: START,
            frozen: (0..0, 0),
        }
    }

    pub(crate) fn gates(&self) -> Arc<GateSettings> {
        Arc::new(self.settings.clone())
    }
}

impl Load {
    /// The times at which calls to the vendor enter.
    pub(crate) fn entries(&self, rng: &mut Rng) -> Vec<Monotonic> {
        match self {
            Self::Poisson(spans) => {
                let mut entries = Vec::new();
                let mut from = START;
                for (rate, span) in spans {
                    let mut at = from.after(gap(*rate, rng));
                    while at < from.after(*span) {
                        entries.push(at);
                        at = at.after(gap(*rate, rng));
                    }
                    from = from.after(*span);
                }
                entries
            }
            Self::Burst(calls, span) => {
                let each = span.as_secs_f64() / *calls as f64;
                (0..*calls).map(|n| START.after(Duration::from_secs_f64(each * n as f64))).collect()
            }
            Self::OneByOne(calls) => vec![START; *calls],
        }
    }
}

/// The time to the next arrival of a Poisson process.
pub(crate) fn gap(rate: f64, rng: &mut Rng) -> Duration {
    Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / rate)
}
