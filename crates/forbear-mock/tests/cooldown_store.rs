//! The stores in memory do what every store must.

use std::sync::Arc;

use forbear_core::store::{CooldownStore, MemoryCooldowns};

async fn store() -> Arc<dyn CooldownStore> {
    Arc::new(MemoryCooldowns::new())
}

forbear_mock::cooldown_store_conformance!(store());
