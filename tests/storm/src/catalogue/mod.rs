//! The scenarios: one row of the table each.

mod limits;
mod rows;
mod trouble;

use std::time::Duration;

use forbear::{Families, Family, GateSettings, Pacing};
use forbear_mock::{MockVendor, reply};

use crate::figures::Bounds;
use crate::scenario::Scenario;
use crate::wire::{HOST, PATH};

pub use limits::{b, c2, f2, fixed, g, sliding, slow};
pub use rows::all;
pub use trouble::{a, d, e, flapping};

/// One row: a scenario, its vendor as a mock, and what counts.
pub struct Storm {
    /// One or two characters.
    pub name: &'static str,
    /// What happens, in a few words.
    pub about: &'static str,
    /// Load, and what is known of the vendor.
    pub scenario: Scenario,
    /// The vendor on the wire. Its time runs from the beginning of the run.
    pub mock: fn() -> MockVendor,
    /// How the host is registered with forbear.
    pub registered: Registered,
    /// Which figures are told.
    pub told: Told,
    /// What forbear's layers must reach.
    pub target: Target,
}

/// How the vendor's host is known to forbear.
#[derive(Debug, Clone, Copy)]
pub enum Registered {
    /// A family with the defaults.
    Family,
    /// Nobody named it: a family is made by its first signal.
    Nobody,
    /// A family that believes no delay above this.
    Believing(Duration),
    /// A family, and one of its own for the first route.
    RouteApart,
    /// A family whose limits are known.
    Paced(fn() -> Pacing),
}

/// Which figures a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Served, 429s, peak.
    Served,
    /// When all calls were done, and 429s.
    AllDone,
    /// The longest call, and 429s.
    Longest,
}

/// What forbear's layers must reach.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// Nothing is promised; the row is there to be looked at.
    None,
    /// All three.
    Bounds(Bounds),
    /// At most so many seconds until all are done.
    AllDone(f64),
    /// At most so many seconds for any call.
    Longest(f64),
}

const fn bounds(served: f64, limited: f64, peak: f64) -> Target {
    Target::Bounds(Bounds { served, limited, peak })
}

impl Storm {
    fn new(name: &'static str, about: &'static str, scenario: Scenario, mock: fn() -> MockVendor) -> Self {
        let (registered, told, target) = (Registered::Family, Told::Served, Target::None);
        Self { name, about, scenario, mock, registered, told, target }
    }

    fn target(self, target: Target) -> Self {
        Self { target, ..self }
    }

    /// The families of one process.
    ///
    /// # Panics
    /// Never: the configuration is valid.
    #[must_use]
    pub fn families(&self) -> Families {
        let family = Family::new(HOST).host(HOST);
        let families = Families::builder();
        let families = match self.registered {
            Registered::Nobody => families,
            Registered::Family => families.family(family),
            Registered::RouteApart => families.family(family).family(Family::new("apart").route(HOST, PATH)),
            Registered::Believing(longest) => {
                families.family(family.gate(GateSettings::registered().max_advertised(longest)))
            }
            Registered::Paced(pacing) => families.family(family.pacing(pacing())),
        };
        families.build().expect("a host and a name of its own")
    }
}

/// A healthy vendor.
pub(crate) fn healthy_mock() -> MockVendor {
    MockVendor::in_process().script(reply(200))
}
