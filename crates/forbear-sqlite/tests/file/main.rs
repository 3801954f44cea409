//! The file: what is in it when it is opened, and what happens to it later.

mod case_71;
mod damage;
mod later;
mod places;
mod processes;
mod responses;
mod versions;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use forbear_core::gate::Transition;
use forbear_core::store::{CooldownEntry, CooldownKey, CooldownStore, Pause};
use forbear_core::work::Stamp;
use forbear_sqlite::SqliteStore;
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join("forbear.db")
}

#[expect(clippy::disallowed_methods, reason = "what is in a file is by the wall clock")]
fn now() -> Stamp {
    Stamp::of(SystemTime::now())
}

/// A cool-down of so long that begins now.
fn entry(family: &str, length: Duration) -> CooldownEntry {
    let key = CooldownKey { family: family.into(), automatic: false, part: None };
    let transition = Transition {
        epoch: 0,
        generation: 1,
        level: 1,
        length,
        remaining: length,
        pace: None,
        struck: None,
        by: None,
        open: false,
        quiet: Duration::ZERO,
    };
    CooldownEntry { key, transition, pause: Pause::AsBefore }
}

async fn families(store: &SqliteStore) -> Vec<String> {
    let loaded = store.load(now()).await.unwrap();
    let mut names: Vec<_> = loaded.entries.iter().map(|entry| entry.key.family.to_string()).collect();
    names.sort();
    names
}

/// A file with a cool-down of an hour for each of these, closed in good order.
async fn written(path: &Path, names: &[&str]) {
    let store = SqliteStore::open(path).unwrap();
    let entries = names.iter().map(|name| entry(name, Duration::from_secs(3600))).collect();
    store.save(entries, now()).await.unwrap();
    store.close().await;
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The files that were set aside.
fn aside(directory: &TempDir) -> Vec<String> {
    names(directory.path()).into_iter().filter(|name| name.contains(".corrupt-")).collect()
}
