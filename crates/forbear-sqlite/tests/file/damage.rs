//! What cannot be read is set aside.

use std::fs;

use forbear_sqlite::SqliteStore;

use crate::{aside, directory, families, now, path, written};

/// Opens what is there: it begins empty, says so, kept what was there, and works.
async fn begins_empty(bytes: &[u8], why: &str) {
    let directory = directory();
    let path = path(&directory);
    fs::write(&path, bytes).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(families(&store).await, Vec::<String>::new());
    let kept = aside(&directory);
    assert_eq!(kept.len(), 1, "{kept:?}");
    // But for the two bytes that say that it has a log.
    let now = fs::read(directory.path().join(&kept[0])).unwrap();
    assert!(
        now.len() == bytes.len()
            && now.iter().zip(bytes).enumerate().all(|(at, (now, was))| now == was || at < 100),
        "{why}"
    );
    let note = store.note().unwrap();
    assert!(note.contains(why) && note.contains(&kept[0]), "{note}");
    store.close().await;
    written(&path, &["a"]).await;
    assert_eq!(families(&SqliteStore::open(&path).unwrap()).await, ["a"]);
}

#[tokio::test]
async fn what_is_no_database() {
    begins_empty(b"cooldowns = { yahoo = 60 }\n", "no database").await;
    begins_empty(b"x", "no database").await;
}

#[tokio::test]
async fn zeros() {
    begins_empty(&[0; 4096], "no database").await;
    begins_empty(&[0; 1], "no database").await;
}

#[tokio::test]
async fn a_head_and_then_zeros() {
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(16_384, 0);
    begins_empty(&bytes, "").await;
}

#[tokio::test]
async fn a_file_of_a_later_version() {
    let directory = directory();
    let other = path(&directory);
    written(&other, &["a"]).await;
    let mut bytes = fs::read(&other).unwrap();
    bytes[60..64].copy_from_slice(&77_u32.to_be_bytes());
    begins_empty(&bytes, "version 77").await;
}

#[tokio::test]
async fn a_file_whose_tables_are_others() {
    let directory = directory();
    let other = path(&directory);
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection
        .execute_batch("CREATE TABLE meta (a); PRAGMA application_id = 1181901426; PRAGMA user_version = 1;")
        .unwrap();
    drop(connection);
    begins_empty(&fs::read(&other).unwrap(), "tables").await;
}

#[tokio::test]
async fn pages_of_zeros_in_the_middle() {
    let directory = directory();
    let other = path(&directory);
    written(&other, &["a", "b"]).await;
    let bytes = fs::read(&other).unwrap();
    let pages = bytes.len() / 4096;
    let mut set_aside = 0;
    for page in 0..pages {
        let mut damaged = bytes.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0);
        let directory = crate::directory();
        let path = crate::path(&directory);
        fs::write(&path, &damaged).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        let known = families(&store).await;
        assert!(known.is_empty() || known == ["a", "b"], "page {page}: {known:?}");
        set_aside += aside(&directory).len();
    }
    assert!(set_aside >= pages - 1, "{set_aside} of {pages}");
}

#[tokio::test]
async fn an_empty_file_is_a_new_one() {
    let directory = directory();
    let path = path(&directory);
    fs::write(&path, b"").unwrap();
    written(&path, &["a"]).await;
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!((families(&store).await, store.note()), (vec!["a".to_owned()], None));
    assert!(aside(&directory).is_empty());
}

#[tokio::test]
async fn a_log_of_which_the_end_is_missing_is_read_to_its_last_whole_transaction() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    for family in ["a", "b"] {
        use forbear_core::store::CooldownStore;
        store.save(vec![crate::entry(family, std::time::Duration::from_secs(3600))], now()).await.unwrap();
    }
    let (file, log) = (fs::read(&path).unwrap(), fs::read(directory.path().join("forbear.db-wal")).unwrap());
    assert!(log.len() > 4096);
    let mut seen = std::collections::BTreeSet::new();
    for cut in (0..=log.len()).step_by(997) {
        let directory = crate::directory();
        let path = crate::path(&directory);
        fs::write(&path, &file).unwrap();
        fs::write(directory.path().join("forbear.db-wal"), &log[..cut]).unwrap();
        let store = SqliteStore::open(&path).unwrap();
        seen.insert(families(&store).await.concat());
    }
    assert!(seen.iter().all(|known| ["", "a", "ab"].contains(&&**known)), "{seen:?}");
    assert!(seen.contains("a"), "{seen:?}");
}

/// SQLite reads what is missing as zeros, and where they were zeros it would be right by chance.
#[tokio::test]
async fn a_file_whose_last_bytes_are_missing() {
    let directory = directory();
    let other = path(&directory);
    written(&other, &["a", "b"]).await;
    let bytes = fs::read(&other).unwrap();
    for cut in [1, 2, 100, 4_095, 4_096] {
        begins_empty(&bytes[..bytes.len() - cut], "cut off").await;
    }
}
