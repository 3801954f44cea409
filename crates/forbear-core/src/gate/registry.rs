//! Gates by number, so that a ticket can name its gate without holding it.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::engine::Gate;

/// A gate's place among the living gates of the process, and a tag that no other gate ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GateId {
    pub(super) place: u32,
    pub(super) tag: u32,
}

struct Registry {
    gates: Vec<Weak<Gate>>,
    free: Vec<u32>,
    next_tag: u32,
}

static REGISTRY: RwLock<Registry> =
    RwLock::new(Registry { gates: Vec::new(), free: Vec::new(), next_tag: 1 });

/// Makes a gate that knows its own number.
pub(super) fn register(make: impl FnOnce(GateId) -> Gate) -> Arc<Gate> {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    let tag = registry.next_tag;
    registry.next_tag = tag.wrapping_add(1);
    let place = registry.free.pop();
    let new = u32::try_from(registry.gates.len()).unwrap_or(u32::MAX);
    let gate = Arc::new(make(GateId { place: place.unwrap_or(new), tag }));
    let weak = Arc::downgrade(&gate);
    match place.and_then(|place| registry.gates.get_mut(place as usize)) {
        Some(slot) => *slot = weak,
        None => registry.gates.push(weak),
    }
    gate
}

/// Frees the place of a gate that is being dropped.
pub(super) fn unregister(id: GateId) {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(slot) = registry.gates.get_mut(id.place as usize) {
        *slot = Weak::new();
        registry.free.push(id.place);
    }
}

/// The gate of this number, if it still lives.
pub(super) fn find(id: GateId) -> Option<Arc<Gate>> {
    let gate =
        REGISTRY.read().unwrap_or_else(PoisonError::into_inner).gates.get(id.place as usize)?.upgrade()?;
    (gate.id() == id).then_some(gate)
}
