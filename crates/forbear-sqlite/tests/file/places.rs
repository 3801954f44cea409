//! Where a store can be, and where not.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use forbear_core::store::{CooldownStore, StoreFault};
use forbear_sqlite::{Durability, SqliteStore};

use crate::{aside, directory, entry, families, names, now, path, written};

fn refusal(path: &Path) -> String {
    let error = SqliteStore::open(path).unwrap_err();
    assert_eq!(error.path().file_name(), path.file_name());
    error.to_string()
}

#[test]
fn a_directory_or_a_device_in_its_place() {
    let directory = directory();
    assert!(refusal(directory.path()).contains("is a directory"));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(refusal(Path::new("/dev/null")).contains("device"));
}

#[test]
fn a_directory_that_is_not_there_or_cannot_be_written() {
    let directory = directory();
    let missing = directory.path().join("missing/forbear.db");
    assert!(refusal(&missing).contains("directory is not there"));
    // Not even root makes files there.
    let refused = refusal(Path::new("/proc/self/forbear.db"));
    assert!(refused.contains("cannot be opened for writing"), "{refused}");
    fs::write(directory.path().join("file"), b"").unwrap();
    let _ = refusal(&directory.path().join("file/forbear.db"));
}

#[test]
fn the_database_of_another_program_is_not_touched() {
    let directory = directory();
    let path = path(&directory);
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(refusal(&path).contains("another program"));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(aside(&directory).is_empty());
}

#[tokio::test]
async fn only_its_owner_can_read_it_or_what_is_beside_it() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    store.save(vec![entry("a", Duration::from_secs(60))], now()).await.unwrap();
    let modes = || {
        let mode =
            |name: &String| fs::metadata(directory.path().join(name)).unwrap().permissions().mode() & 0o777;
        names(directory.path()).iter().map(|name| (name.clone(), mode(name))).collect::<Vec<_>>()
    };
    let all = ["forbear.db", "forbear.db-lock", "forbear.db-shm", "forbear.db-wal"];
    assert_eq!(modes(), all.map(|name| (name.to_owned(), 0o600)));
    store.close().await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert!(modes().iter().all(|(_, mode)| *mode == 0o600), "{:?}", modes());
    drop(store);
}

#[tokio::test]
async fn a_disk_that_is_full_is_told_and_what_was_written_stays() {
    let directory = directory();
    let path = path(&directory);
    let store =
        SqliteStore::settings().max_size(256 << 10).durability(Durability::Process).open(&path).unwrap();
    let mut written = 0;
    let error = loop {
        let entries =
            (0..50).map(|at| entry(&format!("{written:04}-{at:02}"), Duration::from_secs(3600))).collect();
        match store.save(entries, now()).await {
            Ok(_) => written += 50,
            Err(error) => break error,
        }
        assert!(written < 10_000);
    };
    assert_eq!((error.fault(), &*error.cause()), (StoreFault::Full, "database or disk is full"));
    assert_eq!(families(&store).await.len(), written);
    store.close().await;
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(families(&store).await.len(), written);
    store.save(vec![entry("more", Duration::from_secs(60))], now()).await.unwrap();
    assert!(SqliteStore::settings().max_size(4096).open(&path).unwrap_err().to_string().contains("262144"));
}

#[tokio::test]
async fn a_link_is_followed_and_what_it_names_is_set_aside_where_it_is() {
    let (directory, other) = (directory(), directory());
    let (link, target) = (path(&directory), other.path().join("real.db"));
    fs::write(&target, b"not a database").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    written(&link, &["a"]).await;
    assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
    assert_eq!(aside(&other).len(), 1);
    assert!(aside(&directory).is_empty());
}
