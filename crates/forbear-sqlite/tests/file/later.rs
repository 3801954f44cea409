//! What happens to the file while it is open.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::time::Duration;

use forbear::{Families, Family, Operator, StoreState};
use forbear_core::store::{CooldownStore, StoreFault};
use forbear_sqlite::SqliteStore;

use crate::{aside, directory, entry, families, names, now, path};

const HOUR: Duration = Duration::from_secs(3600);

fn alice() -> Operator {
    Operator::new("alice", "")
}

/// Two families in a store of their own.
fn kept(path: &std::path::Path) -> Families {
    let family = |name: &str| Family::new(name).host(format!("{name}.test"));
    let store = SqliteStore::open(path).unwrap();
    Families::builder().family(family("a")).family(family("b")).store(store).build().unwrap()
}

#[tokio::test]
async fn a_file_that_was_removed_is_made_again_and_told_all_that_is_known() {
    let directory = directory();
    let path = path(&directory);
    let kept = kept(&path);
    kept.cool("a", HOUR, alice()).unwrap();
    kept.stored().await.unwrap();
    for name in names(directory.path()) {
        fs::remove_file(directory.path().join(name)).unwrap();
    }
    kept.cool("b", HOUR, alice()).unwrap();
    let error = kept.stored().await.unwrap_err();
    assert_eq!(error.fault(), StoreFault::Lost);
    kept.stored().await.unwrap();
    assert_eq!(families(&SqliteStore::open(&path).unwrap()).await, ["a", "b"]);
}

#[tokio::test]
async fn a_directory_in_its_place_is_told_and_the_program_goes_on() {
    let directory = directory();
    let path = path(&directory);
    let kept = kept(&path);
    kept.cool("a", HOUR, alice()).unwrap();
    kept.stored().await.unwrap();
    for name in names(directory.path()) {
        fs::remove_file(directory.path().join(name)).unwrap();
    }
    fs::create_dir(&path).unwrap();
    kept.cool("b", HOUR, alice()).unwrap();
    let error = kept.stored().await.unwrap_err();
    assert_eq!(error.fault(), StoreFault::Unavailable);
    let shown = kept.health().to_string();
    assert!(shown.starts_with("store sqlite degraded") && shown.contains("is a directory"), "{shown}");
    assert!(shown.contains("\na  cooling") && shown.contains("\nb  cooling"), "{shown}");
    fs::remove_dir(&path).unwrap();
    let mut tries = 0;
    while let Err(error) = kept.stored().await {
        tries += 1;
        assert!(tries < 10, "{error:?}");
    }
    assert_eq!(families(&SqliteStore::open(&path).unwrap()).await, ["a", "b"]);
}

#[tokio::test]
async fn a_file_that_is_damaged_is_set_aside_and_what_is_known_is_written_again() {
    let directory = directory();
    let path = path(&directory);
    let kept = kept(&path);
    kept.cool("a", HOUR, alice()).unwrap();
    kept.stored().await.unwrap();
    // Another process writes, so that nothing that this one remembers of the file holds; and then all pages but the first are lost.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("UPDATE cooldowns SET level = 2; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0xa5; usize::try_from(length).unwrap() - 4096]).unwrap();
    kept.cool("b", HOUR, alice()).unwrap();
    let mut tries = 0;
    while let Err(error) = kept.stored().await {
        tries += 1;
        assert!(tries < 10, "{error:?}");
    }
    assert_eq!(
        aside(&directory).iter().filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm")).count(),
        1
    );
    let health = kept.health().stores.pop().unwrap();
    assert_eq!((health.state, health.note.is_some()), (StoreState::Ready, true));
    assert!(kept.health().to_string().starts_with("store sqlite ready; began empty: "), "{}", kept.health());
    assert_eq!(families(&SqliteStore::open(&path).unwrap()).await, ["a", "b"]);
}

#[tokio::test]
async fn who_writes_for_too_long_is_not_waited_for_and_nothing_is_lost() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::settings().busy(Duration::from_millis(50)).open(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.save(vec![entry("a", HOUR)], now()).await.unwrap_err();
    assert_eq!((error.fault(), &*error.cause()), (StoreFault::Unavailable, "database is locked"));
    other.execute_batch("COMMIT").unwrap();
    store.save(vec![entry("a", HOUR)], now()).await.unwrap();
    assert_eq!(families(&store).await, ["a"]);
}

#[tokio::test]
async fn what_was_asked_for_is_done_also_where_nobody_waits_for_it() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    {
        let mut save = store.save(vec![entry("a", HOUR)], now());
        let waker = std::task::Waker::noop();
        let _ = save.as_mut().poll(&mut std::task::Context::from_waker(waker));
    }
    store.close().await;
    assert_eq!(families(&SqliteStore::open(&path).unwrap()).await, ["a"]);
}

#[tokio::test]
async fn the_last_clone_that_goes_leaves_one_whole_file() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    store.save(vec![entry("a", HOUR)], now()).await.unwrap();
    store.close().await;
    assert_eq!(names(directory.path()), ["forbear.db", "forbear.db-lock"]);
}

#[tokio::test]
async fn many_ask_at_once_and_each_is_answered() {
    let directory = directory();
    let store = SqliteStore::open(path(&directory)).unwrap();
    let asks: Vec<_> = (0..5_000)
        .map(|at| {
            let store = store.clone();
            tokio::spawn(async move { store.save(vec![entry(&format!("{at}"), HOUR)], now()).await })
        })
        .collect();
    for ask in asks {
        assert_eq!(ask.await.unwrap().unwrap(), []);
    }
    assert_eq!(families(&store).await.len(), 5_000);
}
