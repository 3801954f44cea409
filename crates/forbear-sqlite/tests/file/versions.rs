//! Files of earlier versions, and rows that nobody can have written.

use std::time::Duration;

use forbear_core::store::{KeptResponses, ResponseStore, Rows, WorkStore};
use forbear_core::work::{Bounds, DemandReason, Key, SourceName, Stamp, Terms, Token};
use forbear_sqlite::SqliteStore;

use crate::{aside, directory, families, path, written};

fn source() -> SourceName {
    SourceName::new("quote").unwrap()
}

async fn demand(store: &SqliteStore, keys: &[&str]) {
    let keys: Vec<_> = keys.iter().map(|key| Key::new(key).unwrap()).collect();
    let reason = DemandReason::new("watchlist").unwrap();
    store.demand(&source(), &keys, &reason, Stamp::from_millis(1_000)).await.unwrap();
}

async fn claim(store: &SqliteStore) -> Vec<String> {
    let lease = Duration::from_secs(30);
    let terms = Terms { now: Stamp::from_millis(2_000), lease, token: Token(u64::MAX), max_attempts: 3 };
    let claims = store.claim(&source(), 10, &terms).await.unwrap();
    assert!(!claims.more);
    claims.claimed.iter().map(|kept| kept.key.to_string()).collect()
}

/// Makes a file of this version one of version 2, and of version 1.
const BACK: [&str; 2] = [
    "DROP TABLE responses; DROP TABLE response_bodies; DROP TABLE response_totals;
     DELETE FROM meta WHERE name LIKE 'response%'; PRAGMA user_version = 2;",
    "DROP TABLE work; DROP TABLE work_sources; PRAGMA user_version = 1;",
];

#[tokio::test]
async fn a_file_of_an_earlier_version_is_brought_up_to_date_and_keeps_what_it_holds() {
    for back in 1..=BACK.len() {
        let directory = directory();
        let path = path(&directory);
        written(&path, &["a"]).await;
        let connection = rusqlite::Connection::open(&path).unwrap();
        for step in &BACK[..back] {
            connection.execute_batch(step).unwrap();
        }
        drop(connection);
        let store = SqliteStore::open(&path).unwrap();
        demand(&store, &["AAPL"]).await;
        assert_eq!(
            (families(&store).await, claim(&store).await),
            (vec!["a".into()], vec!["AAPL".to_owned()])
        );
        let kept = ResponseStore::kept(&store).await.unwrap();
        assert_eq!(kept, KeptResponses::default());
        assert!(aside(&directory).is_empty());
        let connection = rusqlite::Connection::open(&path).unwrap();
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 3);
    }
}

#[tokio::test]
async fn rows_of_work_that_say_nonsense_hold_up_no_others() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    demand(&store, &["a", "b", "c", "d", "e"]).await;
    store.close().await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    let batch = "UPDATE work SET phase = 9 WHERE key = 'a';
        UPDATE work SET key = 'b' || char(10) || 'x' WHERE key = 'b';
        UPDATE work SET phase = 1, token = NULL WHERE key = 'c';
        UPDATE work SET attempts = -7, deferrals = 99999999999, reasons = 'w' || char(10) || char(10), error = char(27) WHERE key = 'd';";
    connection.execute_batch(batch).unwrap();
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(claim(&store).await, ["d", "e"]);
    let rows = store.rows(&source(), &Rows { limit: 10, ..Rows::default() }).await.unwrap();
    let kept: Vec<_> = rows.iter().map(|kept| kept.key.as_str()).collect();
    assert_eq!(kept, ["d", "e"]);
    assert_eq!((rows[0].row.attempts, rows[0].row.deferrals), (0, u32::MAX));
    // One that is demanded again is like new.
    demand(&store, &["a"]).await;
    assert_eq!(claim(&store).await, ["a"]);
}

/// The index said that it was due, and the row that it was not: no other row of its source was ever claimed.
#[tokio::test]
async fn rows_of_work_that_do_not_agree_with_the_index_hold_up_no_others() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    demand(&store, &["a", "b", "c", "d"]).await;
    store.close().await;
    let connection = rusqlite::Connection::open(&path).unwrap();
    let batch = "UPDATE work SET due_ms = 5000 WHERE key = 'a';
        UPDATE work SET ready_ms = NULL WHERE key = 'b';
        UPDATE work SET phase = 1, token = 7, ready_ms = NULL WHERE key = 'c';";
    connection.execute_batch(batch).unwrap();
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(claim(&store).await, ["d"]);
    let minute = Duration::from_secs(60);
    let bounds = Bounds { now: Stamp::from_millis(2_000), rest: minute, due: minute, lease: minute };
    assert_eq!(store.mend(&source(), &bounds).await.unwrap(), 2);
    assert_eq!(claim(&store).await, ["c", "b"]);
    let times = store.next(&[source()]).await.unwrap();
    assert_eq!(times, [Some(Stamp::from_millis(5_000))]);
}
