//! The store in memory does what every store of responses must.

use std::sync::Arc;

use forbear_core::store::{MemoryResponses, ResponseStore};
use forbear_mock::conformance::responses::BYTES;

async fn store() -> Arc<dyn ResponseStore> {
    Arc::new(MemoryResponses::new(BYTES))
}

forbear_mock::response_store_conformance!(store());
