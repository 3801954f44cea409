//! Layers in the wrong order are reported once, when the stack is built.

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

impl Mistake {
    pub(crate) const fn new(below: Below, fix: &'static str) -> Self {
        Self { below, fix, said: AtomicBool::new(false) }
    }

    /// Reports the mistakes that show in the type of the service `S` below the layer. A boxed service hides what it
    /// holds.
    pub(crate) fn look<S>(layer: &'static str, mistakes: &[&Self]) {
        let inside = type_name::<S>();
        for mistake in mistakes.iter().copied().chain([&STACK_IN_A_STACK]) {
            mistake.report(layer, inside);
        }
    }

    fn report(&self, layer: &'static str, inside: &'static str) {
        if inside.contains(self.below.path) && !self.said.swap(true, Ordering::Relaxed) {
            tracing::error!(layer, below = self.below.name, fix = self.fix, "layers are in the wrong order");
        }
    }
}
