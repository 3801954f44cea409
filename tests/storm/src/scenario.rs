//! What a scenario consists of: load, vendor, and how its figures are measured.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use forbear_core::gate::GateSettings;
use forbear_core::time::Monotonic;

use crate::START;
use crate::model::Vendor;

/// One situation.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Makes what the oracle knows of the vendor.
    pub vendor: fn() -> Box<dyn Vendor>,
    /// When calls to the vendor enter.
    pub load: Load,
    /// The budget of every call.
    pub deadline: Duration,
    /// How long a good answer takes from its attempt's arrival to the caller, give or take 10 ms.
    pub back: Duration,
    /// Processes that share nothing; calls go to them in turn.
    pub replicas: usize,
    /// So many routes are called in turn.
    pub routes: usize,
    /// Whether the first route is dead: nothing there is ever served.
    pub dead: bool,
    /// The gate's settings in a simulation over the gate alone.
    pub settings: GateSettings,
    /// Peaks count from here.
    pub recovered: Monotonic,
    /// Over the gate alone: these calls are never polled again after so many looks of their wait.
    pub frozen: (Range<usize>, u32),
}

/// When calls to the vendor enter.
#[derive(Debug, Clone)]
pub enum Load {
    /// Poisson arrivals: (calls per second, for so long), one after another.
    Poisson(Vec<(f64, Duration)>),
    /// So many, spread evenly over so long.
    Burst(u32, Duration),
    /// So many, each when the one before it is over.
    OneByOne(usize),
}

impl Scenario {
    /// One process and one route, 30 s for each call, peaks from the beginning.
    #[must_use]
    pub fn new(vendor: fn() -> Box<dyn Vendor>, load: Load) -> Self {
        Self {
            vendor,
            load,
            deadline: Duration::from_secs(30),
            back: Duration::from_millis(25),
            replicas: 1,
            routes: 1,
            dead: false,
            settings: GateSettings::automatic(),
            recovered: START,
            frozen: (0..0, 0),
        }
    }

    /// The settings, for gates to share.
    #[must_use]
    pub fn gates(&self) -> Arc<GateSettings> {
        Arc::new(self.settings.clone())
    }

    /// The route of the call of this number.
    #[must_use]
    pub const fn route(&self, call: usize) -> usize {
        call % self.routes
    }
}

impl Load {
    /// The times at which calls to the vendor enter.
    pub fn entries(&self, rng: &mut Rng) -> Vec<Monotonic> {
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
                let each = span.as_secs_f64() / f64::from(*calls);
                (0..*calls).map(|n| START.after(Duration::from_secs_f64(each * f64::from(n)))).collect()
            }
            Self::OneByOne(calls) => vec![START; *calls],
        }
    }
}

/// The time to the next arrival of a Poisson process.
pub fn gap(rate: f64, rng: &mut Rng) -> Duration {
    Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / rate)
}
