//! Responses in the file, and what may happen to them there.

use std::path::Path;
use std::time::Duration;

use forbear_core::store::{CooldownStore, KeptResponses, ResponseKey, ResponseStore, StoredResponse};
use forbear_core::work::Stamp;
use forbear_sqlite::SqliteStore;
use http::{HeaderMap, StatusCode};

use crate::{aside, directory, entry, names, now, path};

const KEY: ResponseKey = ResponseKey { what: 1, whose: 0 };

fn key(what: u128) -> ResponseKey {
    ResponseKey { what, ..KEY }
}

fn response(key: ResponseKey, body: &str) -> StoredResponse {
    StoredResponse {
        key,
        variant: 0,
        host: "vendor.test".into(),
        family: None,
        status: StatusCode::OK,
        fields: HeaderMap::from_iter([(http::header::ETAG, "\"v\"".parse().unwrap())]),
        body: body.to_owned().into(),
        age: Duration::ZERO,
    }
}

async fn put(store: &SqliteStore, responses: &[StoredResponse], now: Stamp) {
    store.put(responses.to_vec(), now).await.unwrap();
}

async fn body(store: &SqliteStore, key: ResponseKey) -> Option<String> {
    let found = store.find(key, now()).await.unwrap();
    found.responses.first().map(|found| String::from_utf8(found.body.to_vec()).unwrap())
}

/// A file with responses 1 to 9, whose bodies are their numbers.
async fn nine(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let all: Vec<_> = (1..10).map(|number| response(key(number), &number.to_string())).collect();
    put(&store, &all, now()).await;
    store.close().await;
}

/// Does this to the file behind its back.
fn change(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn the_next_process_finds_them_by_the_same_keys_and_no_file_stays_beside() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    let secret = store.secret();
    put(&store, &[response(KEY, "a")], now()).await;
    assert_eq!(body(&store, KEY).await.unwrap(), "a");
    store.close().await;
    assert_eq!(names(directory.path()), ["forbear.db", "forbear.db-lock"]);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!((store.secret(), body(&store, KEY).await.unwrap().as_str()), (secret, "a"));
}

#[tokio::test]
async fn two_processes_share_them() {
    let directory = directory();
    let path = path(&directory);
    let [one, other] = [(); 2].map(|()| SqliteStore::open(&path).unwrap());
    assert_eq!(one.secret(), other.secret());
    for number in 0..20 {
        put(&one, &[response(KEY, &number.to_string())], now()).await;
        assert_eq!(body(&other, KEY).await, Some(number.to_string()));
    }
    other.remove(vec![KEY]).await.unwrap();
    assert_eq!(body(&one, KEY).await, None);
}

#[tokio::test]
async fn rows_that_nobody_can_have_written_are_dropped_and_the_others_stay() {
    let damages = [
        "UPDATE response_bodies SET body = x'00' WHERE id = 1",
        "UPDATE responses SET status = 7 WHERE id = 1",
        "UPDATE responses SET status = 404 WHERE id = 1",
        "UPDATE responses SET received_ms = received_ms - 60000 WHERE id = 1",
        "UPDATE responses SET received_ms = 9000000000000000000 WHERE id = 1",
        "UPDATE responses SET received_ms = -1, used_ms = 9000000000000000000 WHERE id = 1",
        "UPDATE responses SET fields = x'ff' WHERE id = 1",
        "UPDATE responses SET fields = CAST('etag: \"w\"' || char(10) AS BLOB) WHERE id = 1",
        "UPDATE responses SET variant = x'00' WHERE id = 1",
        "UPDATE responses SET host = CAST(x'ff' AS TEXT) WHERE id = 1",
        "UPDATE responses SET host = 'vendor.tesu' WHERE id = 1",
        "UPDATE responses SET family = 'vendor' WHERE id = 1",
        "UPDATE responses SET what = x'00000000000000000000000000000063' WHERE id = 2; UPDATE responses SET what = x'00000000000000000000000000000002' WHERE id = 1;
         UPDATE responses SET what = x'00000000000000000000000000000001' WHERE id = 2",
    ];
    for damage in damages {
        let directory = directory();
        let path = path(&directory);
        nine(&path).await;
        change(&path, damage);
        let store = SqliteStore::open(&path).unwrap();
        let found = store.find(KEY, now()).await.unwrap();
        assert_eq!((found.responses.len(), found.dropped), (0, 1), "{damage}");
        // It is gone, and what is put in its place holds.
        put(&store, &[], now()).await;
        assert_eq!(store.find(KEY, now()).await.unwrap().dropped, 0, "{damage}");
        put(&store, &[response(KEY, "new")], now()).await;
        assert_eq!(body(&store, KEY).await.unwrap(), "new", "{damage}");
        for number in 3..10 {
            assert_eq!(body(&store, key(number)).await, Some(number.to_string()), "{damage}");
        }
        assert!(aside(&directory).is_empty());
    }
}

/// Wherever a disk garbles a byte: what is found is what was written, or nothing is.
#[tokio::test]
async fn no_byte_that_is_garbled_is_served() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    let full = |number: u128| {
        let mut full = response(key(number), &format!("{number:05}").repeat(2_000));
        full.fields.insert("x-number", number.to_string().parse().unwrap());
        full
    };
    let all: Vec<_> = (1..6).map(full).collect();
    put(&store, &all, now()).await;
    store.close().await;
    let whole = std::fs::read(&path).unwrap();
    let (mut lost, mut found) = (0, 0);
    for at in (100..whole.len()).step_by(601) {
        let directory = crate::directory();
        let path = crate::path(&directory);
        let mut garbled = whole.clone();
        garbled[at] ^= 0x15;
        std::fs::write(&path, garbled).unwrap();
        // Where it is its own description that is garbled it may be that of no program any more.
        let Ok(store) = SqliteStore::open(&path) else { continue };
        for expected in &all {
            let answer = store.find(expected.key, now()).await;
            match answer.ok().and_then(|answer| answer.responses.into_iter().next()) {
                Some(told) => {
                    assert_eq!(StoredResponse { age: Duration::ZERO, ..told }, *expected, "byte {at}");
                    found += 1;
                }
                None => lost += 1,
            }
        }
    }
    assert!(lost > 50 && found > 100, "{lost} {found}");
}

#[tokio::test]
async fn a_body_that_is_missing_is_a_miss() {
    let directory = directory();
    let path = path(&directory);
    nine(&path).await;
    change(&path, "DELETE FROM response_bodies WHERE id = 1");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(body(&store, KEY).await, None);
    put(&store, &[response(KEY, "new")], now()).await;
    assert_eq!(body(&store, KEY).await.unwrap(), "new");
}

#[tokio::test]
async fn a_file_that_tells_a_time_which_is_none_begins_anew() {
    for clock in ["x'7fffffffffffffff'", "x'00'", "'soon'"] {
        let directory = directory();
        let path = path(&directory);
        nine(&path).await;
        change(
            &path,
            &format!("UPDATE meta SET value = CAST({clock} AS BLOB) WHERE name = 'response_clock'"),
        );
        let store = SqliteStore::open(&path).unwrap();
        let found = store.find(KEY, now()).await.unwrap();
        assert_eq!((found.responses.len(), found.dropped), (0, 9), "{clock}");
        put(&store, &[response(KEY, "new")], now()).await;
        assert_eq!(body(&store, KEY).await.unwrap(), "new");
        assert_eq!(store.kept().await.unwrap().responses, 1);
    }
}

#[tokio::test]
async fn a_row_from_the_future_is_dropped() {
    let directory = directory();
    let path = path(&directory);
    nine(&path).await;
    change(&path, "DELETE FROM meta WHERE name = 'response_clock'");
    let store = SqliteStore::open(&path).unwrap();
    let found = store.find(KEY, now().before(Duration::from_secs(60))).await.unwrap();
    assert_eq!((found.responses.len(), found.dropped), (0, 1));
    assert_eq!(body(&store, key(2)).await.unwrap(), "2");
}

/// The next process has a clock that is an hour behind.
#[tokio::test]
async fn a_clock_that_goes_back_between_two_processes_makes_nothing_younger() {
    let directory = directory();
    let path = path(&directory);
    let begun = now();
    let store = SqliteStore::open(&path).unwrap();
    put(&store, &[response(KEY, "a")], begun).await;
    put(&store, &[response(key(2), "b")], begun.after(Duration::from_secs(600))).await;
    store.close().await;
    let store = SqliteStore::open(&path).unwrap();
    let back = begun.before(Duration::from_secs(3_600));
    let age = async |after: u64, key| {
        let found = store.find(key, back.after(Duration::from_secs(after))).await.unwrap();
        assert_eq!(found.dropped, 0);
        found.responses[0].age.as_secs()
    };
    assert_eq!((age(0, KEY).await, age(0, key(2)).await), (600, 0));
    assert_eq!((age(90, KEY).await, age(90, key(2)).await), (690, 90));
    // What was only read is known by the third one too.
    put(&store, &[], back).await;
    store.close().await;
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.find(KEY, back).await.unwrap().responses[0].age.as_secs(), 690);
}

/// As behind another process that writes for long: meanwhile others looked, by a clock that had gone on.
#[tokio::test]
async fn a_write_that_waits_makes_nothing_younger_and_nothing_else_older() {
    let directory = directory();
    let path = path(&directory);
    let (store, begun) = (SqliteStore::open(&path).unwrap(), now());
    let after = |seconds| begun.after(Duration::from_secs(seconds));
    put(&store, &[response(KEY, "a")], begun).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    for round in 0..3 {
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut writing = Box::pin(store.put(vec![response(key(10 + round), "b")], after(20 * round as u64)));
        // It is asked for, and waits.
        let waits = std::future::poll_fn(|cx| std::task::Poll::Ready(writing.as_mut().poll(cx).is_pending()));
        assert!(waits.await);
        for seconds in [5, 10, 15] {
            let _ = store.find(KEY, after(20 * round as u64 + seconds)).await.unwrap();
        }
        other.execute_batch("ROLLBACK").unwrap();
        writing.await.unwrap();
    }
    for (key, age) in [(KEY, 60), (key(10), 60), (key(11), 40), (key(12), 20)] {
        let found = store.find(key, after(60)).await.unwrap();
        assert_eq!((found.responses[0].age.as_secs(), found.dropped), (age, 0), "{key:?}");
    }
}

/// Who reads waits for no write.
#[tokio::test]
async fn a_file_that_another_process_writes_is_read() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    put(&store, &[response(KEY, "a")], now()).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM responses;").unwrap();
    let writing = tokio::spawn({
        let store = store.clone();
        async move { put(&store, &[response(key(2), "b")], now()).await }
    });
    for _ in 0..100 {
        assert_eq!(body(&store, KEY).await.unwrap(), "a");
    }
    assert!(!writing.is_finished());
    other.execute_batch("ROLLBACK").unwrap();
    writing.await.unwrap();
    assert_eq!(body(&store, key(2)).await.unwrap(), "b");
}

#[tokio::test]
async fn a_file_that_is_removed_is_made_anew_with_the_same_keys_and_one_that_takes_its_place_is_told_nothing()
{
    let (directory, other) = (directory(), directory());
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    put(&store, &[response(KEY, "a")], now()).await;
    for suffix in ["", "-wal", "-shm"] {
        std::fs::remove_file(format!("{}{suffix}", path.display())).unwrap();
    }
    assert!(store.put(vec![], now()).await.is_err());
    assert_eq!(body(&store, KEY).await, None);
    put(&store, &[response(KEY, "b")], now()).await;
    assert_eq!(body(&store, KEY).await.unwrap(), "b");

    let theirs = crate::path(&other);
    nine(&theirs).await;
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(format!("{}{suffix}", path.display())).unwrap();
    }
    std::fs::rename(&theirs, &path).unwrap();
    assert!(store.put(vec![], now()).await.is_err());
    assert_eq!(body(&store, KEY).await, None);
    put(&store, &[response(KEY, "c")], now()).await;
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(body(&store, KEY).await.unwrap(), "1");
}

#[tokio::test]
async fn a_bound_that_is_lowered_holds_with_the_next_that_comes() {
    let directory = directory();
    let path = path(&directory);
    nine(&path).await;
    let one = response(KEY, "1").bytes();
    let store = SqliteStore::settings().max_responses(3 * one).open(&path).unwrap();
    put(&store, &[response(key(10), "0")], now()).await;
    assert_eq!(store.kept().await.unwrap(), KeptResponses { responses: 3, bytes: 3 * one });
    assert_eq!(body(&store, key(10)).await.unwrap(), "0");
}

/// By which it would keep nothing any more, or everything.
#[tokio::test]
async fn a_count_of_what_is_kept_that_is_wrong_is_made_right_when_the_file_is_opened() {
    let wrongs = [
        "DELETE FROM response_totals",
        "UPDATE response_totals SET bytes = -1000000000",
        "UPDATE response_totals SET bytes = 4611686018427387904, responses = 7",
        "DELETE FROM response_totals; UPDATE responses SET bytes = 9223372036854775807 WHERE id IN (1, 2)",
        "DELETE FROM response_totals; UPDATE responses SET bytes = -9223372036854775807 WHERE id IN (1, 2);
         INSERT INTO response_totals VALUES (1, 9, 4000000000000000000)",
    ];
    for wrong in wrongs {
        let directory = directory();
        let path = path(&directory);
        nine(&path).await;
        change(&path, wrong);
        let one = response(KEY, "1").bytes();
        let store = SqliteStore::settings().max_responses(3 * one).open(&path).unwrap();
        for number in 11..16 {
            put(&store, &[response(key(number), "0")], now()).await;
        }
        assert_eq!(store.kept().await.unwrap(), KeptResponses { responses: 3, bytes: 3 * one }, "{wrong}");
        for number in 13..16 {
            assert_eq!(body(&store, key(number)).await.as_deref(), Some("0"), "{wrong}");
        }
        assert!(aside(&directory).is_empty(), "{wrong}");
    }
}

/// Whoever took the room came later, and took more than its half.
#[tokio::test]
async fn where_the_rest_of_the_file_took_the_room_the_least_used_leave() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::settings().max_size(1 << 20).open(&path).unwrap();
    for number in 0..40 {
        put(&store, &[response(key(number), &"x".repeat(10_000))], now()).await;
    }
    let before = store.kept().await.unwrap();
    let mut at = 0;
    while at < 100_000 {
        let entries =
            (at..at + 100).map(|at| entry(&format!("{at:06}"), Duration::from_secs(3600))).collect();
        if store.save(entries, now()).await.is_err() {
            break;
        }
        at += 100;
    }
    for number in 100..140 {
        put(&store, &[response(key(number), &"y".repeat(10_000))], now()).await;
        assert!(body(&store, key(number)).await.is_some());
    }
    assert!(store.kept().await.unwrap().bytes <= before.bytes);
}

#[tokio::test]
async fn a_file_full_of_them_has_room_for_cool_downs() {
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::settings().max_size(2 << 20).open(&path).unwrap();
    for number in 0..300_u32 {
        put(&store, &[response(key(number.into()), &"x".repeat(10_000 + number as usize))], now()).await;
    }
    let kept = store.kept().await.unwrap();
    assert!((900_000..=1 << 20).contains(&kept.bytes), "{kept:?}");
    let entries = (0..500).map(|at| entry(&format!("{at:04}"), Duration::from_secs(3600))).collect();
    store.save(entries, now()).await.unwrap();
}
