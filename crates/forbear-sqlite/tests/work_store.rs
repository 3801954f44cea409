//! It does what every store of refresh work must.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use forbear_core::store::WorkStore;
use forbear_sqlite::SqliteStore;

/// A new and empty one each time.
async fn store() -> Arc<dyn WorkStore> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let directory = concat!(env!("CARGO_TARGET_TMPDIR"), "/work_store");
    std::fs::create_dir_all(directory).unwrap();
    let path = format!("{directory}/{}.db", MADE.fetch_add(1, Ordering::Relaxed));
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{path}{suffix}"));
    }
    Arc::new(SqliteStore::open(path).unwrap())
}

forbear_mock::work_store_conformance!(store());
