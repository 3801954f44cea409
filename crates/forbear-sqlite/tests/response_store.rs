//! It does what every store of responses must.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use forbear_core::store::ResponseStore;
use forbear_mock::conformance::responses::BYTES;
use forbear_sqlite::SqliteStore;

/// A new and empty one each time.
async fn store() -> Arc<dyn ResponseStore> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let directory = concat!(env!("CARGO_TARGET_TMPDIR"), "/response_store");
    std::fs::create_dir_all(directory).unwrap();
    let path = format!("{directory}/{}.db", MADE.fetch_add(1, Ordering::Relaxed));
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{path}{suffix}"));
    }
    Arc::new(SqliteStore::settings().max_responses(BYTES).open(path).unwrap())
}

forbear_mock::response_store_conformance!(store());
