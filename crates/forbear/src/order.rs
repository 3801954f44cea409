//! Layers in the wrong order are reported once, when the stack is built.

use std::sync::atomic::{AtomicBool, Ordering};

/// A way to stack layers that does not do what one expects.
pub(crate) struct Mistake {
    /// A service that must not stand below the layer that looks, by the end of its type's path.
    below: &'static str,
    fix: &'static str,
    said: AtomicBool,
}

impl Mistake {
    pub(crate) const fn new(below: &'static str, fix: &'static str) -> Self {
        Self { below, fix, said: AtomicBool::new(false) }
    }

    /// Reports the mistake where the service `S` below the layer contains it. A boxed service hides what it holds.
    pub(crate) fn look<S>(&self, layer: &'static str) {
        if std::any::type_name::<S>().contains(self.below) && !self.said.swap(true, Ordering::Relaxed) {
            tracing::error!(layer, below = self.below, fix = self.fix, "layers are in the wrong order");
        }
    }
}
