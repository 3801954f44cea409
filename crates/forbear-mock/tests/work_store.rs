//! The conformance suite, on the store in memory.

use std::sync::Arc;

use forbear_core::store::{MemoryWorkStore, WorkStore};

async fn store() -> Arc<dyn WorkStore> {
    Arc::new(MemoryWorkStore::new())
}

forbear_mock::work_store_conformance!(store());
