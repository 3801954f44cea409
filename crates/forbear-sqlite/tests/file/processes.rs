//! Several processes on one file: this test binary runs itself.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use forbear_core::partition::Partition;
use forbear_core::store::{
    CooldownEntry, CooldownKey, CooldownStore, Part, PurgeResponses, ResponseKey, ResponseStore,
    StoredResponse,
};
use forbear_sqlite::SqliteStore;
use http::{HeaderMap, StatusCode};

use crate::{aside, directory, entry, families, now, path};

const ROLE: &str = "FORBEAR_TEST_ROLE";
const FILE: &str = "FORBEAR_TEST_FILE";

/// Runs one test of this binary in a process of its own, in a role.
fn child(test: &str, role: &str, file: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, role)
        .env(FILE, file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The file that this process is to use, where it is in a role.
fn role() -> Option<(String, String)> {
    Some((std::env::var(ROLE).ok()?, std::env::var(FILE).unwrap()))
}

#[tokio::test]
async fn four_processes_write_one_file_that_begins_damaged() {
    if let Some((role, file)) = role() {
        let store = SqliteStore::open(file).unwrap();
        for at in 0..50 {
            store
                .save(vec![entry(&format!("{role}-{at:02}"), Duration::from_secs(3600))], now())
                .await
                .unwrap();
        }
        return store.close().await;
    }
    let directory = directory();
    let path = path(&directory);
    std::fs::write(&path, b"what is left of another file").unwrap();
    let test = "processes::four_processes_write_one_file_that_begins_damaged";
    let children: Vec<_> = ["a", "b", "c", "d"].map(|role| child(test, role, &path)).into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(families(&SqliteStore::open(&path).unwrap()).await.len(), 200);
    assert_eq!(aside(&directory).len(), 1, "one of them set it aside, once");
}

fn answer(host: &str, key: u8, number: usize) -> StoredResponse {
    StoredResponse {
        key: ResponseKey { what: key.into(), whose: 0 },
        variant: (number % 3) as u128,
        host: host.into(),
        family: None,
        status: StatusCode::OK,
        fields: HeaderMap::new(),
        body: format!("{key} {}", "x".repeat(number * 37 % 5_000)).into(),
        age: Duration::ZERO,
    }
}

/// Three keep answers and read those of the others, with less room than they need; the fourth purges.
#[tokio::test]
async fn four_processes_keep_read_and_purge_answers_in_one_file() {
    if let Some((role, file)) = role() {
        let store = SqliteStore::settings().max_responses(100_000).open(file).unwrap();
        let mut random = fastrand::Rng::new();
        for number in 0..150 {
            let key = random.u8(..40);
            match (&*role, number % 10) {
                ("d", 0) => drop(store.purge(PurgeResponses::Host("a.test".into())).await.unwrap()),
                (_, 5) => store.remove(vec![answer("", key, 0).key]).await.unwrap(),
                ("d", _) => {}
                _ => {
                    let host = format!("{role}.test");
                    store
                        .put(vec![answer(&host, key, number), answer(&host, key, number + 1)], now())
                        .await
                        .unwrap();
                }
            }
            let key = random.u8(..40);
            let found = store.find(answer("", key, 0).key, now()).await.unwrap();
            assert_eq!(found.dropped, 0);
            assert!(found.responses.iter().all(|one| one.body.starts_with(format!("{key} ").as_bytes())));
        }
        return store.close().await;
    }
    let directory = directory();
    let path = path(&directory);
    let test = "processes::four_processes_keep_read_and_purge_answers_in_one_file";
    let children: Vec<_> = ["a", "b", "c", "d"].map(|role| child(test, role, &path)).into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(aside(&directory).is_empty());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("SELECT bytes FROM response_totals"), number("SELECT sum(bytes) FROM responses"));
    assert_eq!(number("SELECT responses FROM response_totals"), number("SELECT count(*) FROM responses"));
    assert_eq!(number("SELECT count(*) FROM response_bodies"), number("SELECT count(*) FROM responses"));
    assert!((50_000..=100_000).contains(&number("SELECT bytes FROM response_totals")));
}

fn part(secret: &str) -> CooldownEntry {
    let of = Partition::of(secret);
    let part = Some(Part { of, label: of.to_string().into() });
    let entry = entry("mail", Duration::from_secs(3600));
    CooldownEntry { key: CooldownKey { part, ..entry.key.clone() }, ..entry }
}

/// A credential is known again by the next process, and is not in the file.
#[tokio::test]
async fn a_part_is_known_to_the_next_process_and_its_secret_to_none() {
    if let Some((role, file)) = role() {
        let early = (role == "late").then(|| Partition::of("anything"));
        let store = SqliteStore::open(file).unwrap();
        let known = store.look_up(vec![part("sk-secret-canary").key], now()).await.unwrap();
        match &*role {
            "knows" => assert_eq!((known.len(), store.note()), (1, None)),
            _ => {
                assert!(early.is_some() && store.load(now()).await.unwrap().entries.is_empty());
                assert!(store.note().unwrap().contains("parts of families are not kept"));
            }
        }
        return;
    }
    let directory = directory();
    let path = path(&directory);
    let store = SqliteStore::open(&path).unwrap();
    store.save(vec![part("sk-secret-canary")], now()).await.unwrap();
    let test = "processes::a_part_is_known_to_the_next_process_and_its_secret_to_none";
    for role in ["knows", "late"] {
        assert!(child(test, role, &path).wait().unwrap().success(), "{role}");
    }
    for name in crate::names(directory.path()) {
        let bytes = std::fs::read(directory.path().join(&name)).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"canary"), "{name}");
    }
}
