//! Whether a gate stands below a layer, in the same task. It keeps the URL of what it sends, so that a layer above need
//! not.
//!
//! Found out while services are made ready: that comes before every call, on the same instance. A gate behind a buffer
//! is made ready by another task, and not found; then the layer above keeps the URL itself.

use std::cell::Cell;

thread_local! {
    static GATE: Cell<bool> = const { Cell::new(false) };
}

/// Makes what stands below ready; and whether there was a gate in it.
#[inline]
pub(crate) fn look<T>(ready: impl FnOnce() -> T) -> (T, bool) {
    GATE.set(false);
    let polled = ready();
    (polled, GATE.replace(false))
}

/// A gate was made ready.
#[inline]
pub(crate) fn gate() {
    GATE.set(true);
}
