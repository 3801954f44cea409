//! Layers in the wrong order are reported once, when the stack is built; what multiplies requests, once it is seen.

use std::any::type_name;
use std::sync::atomic::{AtomicBool, Ordering};

/// A service that must not stand below a layer.
pub(crate) struct Below {
    /// What its type's name holds.
    path: &'static str,
    /// What users call it.
    name: &'static str,
}

impl Below {
    pub(crate) const BUDGET: Self =
        Self { path: "forbear::budget::service::BudgetService<", name: "BudgetLayer" };
    pub(crate) const RETRY_AFTER: Self =
        Self { path: "forbear::retry_after::service::RetryAfterService<", name: "RetryAfterLayer" };
    pub(crate) const PACING: Self =
        Self { path: "forbear::pacing::service::PacingService<", name: "PacingLayer" };
    pub(crate) const GATE: Self =
        Self { path: "forbear::cooldown::service::FamilyCooldownService<", name: "FamilyCooldownLayer" };
    pub(crate) const TOWER_RETRY: Self = Self { path: "tower::retry::Retry<", name: "tower::retry" };
    const STALE: Self = Self { path: "forbear::stale::service::StaleService<", name: "StaleLayer" };
    /// All layers, in a type whose name shows none of them.
    const VENDOR: Self = Self { path: "forbear::vendor::Vendor<", name: "Vendor" };
}

/// A way to stack layers that does not do what one expects.
pub(crate) struct Mistake {
    below: Below,
    fix: &'static str,
    said: AtomicBool,
}

/// Wrong below every layer.
static STACK_IN_A_STACK: Mistake = Mistake::new(
    Below::VENDOR,
    "put layers around the client itself: a Vendor has all of them, or each is there twice",
);

/// The same.
static STALE_INSIDE: Mistake = Mistake::new(
    Below::STALE,
    "put StaleLayer outermost, around all other layers: below them what is in memory is waited for, paced and refused, and an \
     attempt in the background has no budget",
);
#[cfg(feature = "stale")]
static TWO_STALE: Mistake =
    Mistake::new(Below::STALE, "keep one StaleLayer per stack, or every answer is stored and served twice");

impl Mistake {
    /// The same of what stands below a `StaleLayer`, which is around all layers.
    #[cfg(feature = "stale")]
    pub(crate) fn look_below_stale<S>() {
        TWO_STALE.report("StaleLayer", type_name::<S>());
    }

    pub(crate) const fn new(below: Below, fix: &'static str) -> Self {
        Self { below, fix, said: AtomicBool::new(false) }
    }

    /// Reports the mistakes that show in the type of the service `S` below the layer. A boxed service hides what it
    /// holds.
    pub(crate) fn look<S>(layer: &'static str, mistakes: &[&Self]) {
        let inside = type_name::<S>();
        for mistake in mistakes.iter().copied().chain([&STACK_IN_A_STACK, &STALE_INSIDE]) {
            mistake.report(layer, inside);
        }
    }

    fn report(&self, layer: &'static str, inside: &'static str) {
        if inside.contains(self.below.path) && !self.said.swap(true, Ordering::Relaxed) {
            tracing::error!(layer, below = self.below.name, fix = self.fix, "layers are in the wrong order");
        }
    }
}

/// Something besides `RetryAfterLayer` that sends again what was limited. It shows only while requests are sent.
#[derive(Debug)]
pub(crate) struct Multiplied {
    who: &'static str,
    fix: &'static str,
    said: AtomicBool,
}

/// Seen at the outer gate: an answer or a refusal that another gate has decided about.
#[cfg(feature = "cooldown")]
pub(crate) static TWO_STACKS: Multiplied = Multiplied::new(
    "a stack below this stack",
    "put forbear around the client once; with two, one call waits twice and is counted twice",
);
#[cfg(feature = "reqwest-middleware")]
pub(crate) static RETRY_ABOVE: Multiplied = Multiplied::new(
    "a middleware before ForbearMiddleware",
    "leave limits to forbear: let that middleware send again after faults only; what ForbearMiddleware gives back was \
     waited for as long as the budget allows",
);

impl Multiplied {
    const fn new(who: &'static str, fix: &'static str) -> Self {
        Self { who, fix, said: AtomicBool::new(false) }
    }

    /// Seen by a middleware; once for each.
    #[cfg(feature = "reqwest-middleware")]
    pub(crate) const fn retry_below() -> Self {
        Self::new(
            "a middleware after ForbearMiddleware",
            "leave limits to forbear: let that middleware send again after faults only; below the gate it sends what was \
             not admitted",
        )
    }

    #[cold]
    pub(crate) fn report(&self) {
        if !self.said.swap(true, Ordering::Relaxed) {
            tracing::error!(who = self.who, fix = self.fix, "limited requests are sent again twice over");
        }
    }
}
