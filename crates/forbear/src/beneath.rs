//! Which gate stands below a layer, in the same task, if any. It keeps the URL of what it sends, so that a layer above
//! need not; and its families know when nobody waits any more.
//!
//! Found out while services are made ready: that comes before every call, on the same instance. A gate behind a buffer
//! is made ready by another task, and not found; then the layer above keeps the URL itself, and only budgets end what it
//! waits for by itself.

use std::cell::Cell;

use forbear_core::families::FamiliesId;

thread_local! {
    static GATE: Cell<Option<FamiliesId>> = const { Cell::new(None) };
}

/// Makes what stands below ready; and the families of the gate in it.
#[inline]
pub(crate) fn look<T>(ready: impl FnOnce() -> T) -> (T, Option<FamiliesId>) {
    GATE.set(None);
    let polled = ready();
    // Left there for who looks from further above.
    (polled, GATE.get())
}

/// A gate of these families was made ready.
#[inline]
pub(crate) fn gate(families: FamiliesId) {
    GATE.set(Some(families));
}
