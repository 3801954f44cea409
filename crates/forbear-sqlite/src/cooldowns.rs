//! Cool-downs in the file.

use std::time::Duration;

use forbear_core::partition::PartitionKey;
use forbear_core::store::{
    Absorbed, CooldownEntry, CooldownKey, CooldownRecord, CooldownStore, Loaded, StoreFuture,
};
use forbear_core::work::Stamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::SqliteStore;
use crate::row::{self, COLUMNS};

/// What says nothing any more is deleted so much later, should the clock have been ahead.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// So many rows are read at most; those that hold for longest.
const MOST: i64 = 100_000;

fn select_one() -> String {
    format!("SELECT {COLUMNS} FROM cooldowns WHERE family = ?1 AND automatic = ?2 AND part = ?3")
}

fn select_all() -> String {
    format!("SELECT {COLUMNS} FROM cooldowns WHERE forget_ms > ?1 ORDER BY forget_ms DESC LIMIT {MOST}")
}

fn replace() -> String {
    let places: Vec<_> = (1..=19).map(|at| format!("?{at}")).collect();
    format!("INSERT OR REPLACE INTO cooldowns ({COLUMNS}) VALUES ({})", places.join(", "))
}

const DELETE_OLD: &str = "DELETE FROM cooldowns WHERE forget_ms <= ?1";
const DELETE_ONE: &str = "DELETE FROM cooldowns WHERE family = ?1 AND automatic = ?2 AND part = ?3";

pub(crate) fn statements() -> [String; 5] {
    [select_one(), select_all(), replace(), DELETE_OLD.to_owned(), DELETE_ONE.to_owned()]
}

/// Whether the tables are those that the statements are for.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    for statement in statements() {
        let _ = connection.prepare_cached(&statement)?;
    }
    Ok(())
}

fn find(connection: &Connection, key: &CooldownKey) -> rusqlite::Result<Option<CooldownRecord>> {
    let mut statement = connection.prepare_cached(&select_one())?;
    let found =
        statement.query_row(params![&*key.family, key.automatic, row::part(key)], row::read).optional()?;
    Ok(found.flatten().map(|(_, record)| record))
}

fn put(connection: &Connection, key: &CooldownKey, record: &CooldownRecord) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(&replace())?;
    row::write(key, record, |values| statement.execute(values))
}

/// Which rows may be kept by this process: those of parts only where it hashes them as the file does.
fn key_fits(connection: &Connection) -> rusqlite::Result<bool> {
    let query = "SELECT value FROM meta WHERE name = 'partition_key'";
    let kept: [u8; 16] = connection.prepare_cached(query)?.query_row([], |row| row.get(0))?;
    Ok(PartitionKey::from_bytes(kept) == PartitionKey::of_process())
}

fn load(connection: &Connection, now: Stamp) -> rusqlite::Result<Loaded> {
    let fits = key_fits(connection)?;
    let mut statement = connection.prepare_cached(&select_all())?;
    let mut rows = statement.query([row::stamp(now)])?;
    let (mut loaded, mut mended, mut broken) = (Loaded::default(), Vec::new(), Vec::new());
    while let Some(found) = rows.next()? {
        let Some((key, mut record)) = row::read(found)? else {
            broken.push((found.get::<_, String>(0)?, found.get::<_, i64>(1)?, found.get::<_, i64>(2)?));
            continue;
        };
        if record.mend(now) {
            mended.push((key.clone(), record.clone()));
        }
        if (fits || key.part.is_none()) && record.forget_at() > now {
            loaded.entries.push(record.entry(key, now));
        }
    }
    drop(rows);
    loaded.mended = mended.len().saturating_add(broken.len());
    for (key, record) in mended {
        put(connection, &key, &record)?;
    }
    for (family, automatic, part) in broken {
        let _ = connection.prepare_cached(DELETE_ONE)?.execute(params![family, automatic, part])?;
    }
    Ok(loaded)
}

fn save(
    connection: &Connection,
    entries: Vec<CooldownEntry>,
    now: Stamp,
) -> rusqlite::Result<Vec<CooldownEntry>> {
    let fits = key_fits(connection)?;
    let mut newer = Vec::new();
    for entry in entries.into_iter().filter(|entry| fits || entry.key.part.is_none()) {
        match find(connection, &entry.key)? {
            Some(mut record) => {
                let absorbed = record.absorb(&entry, now);
                put(connection, &entry.key, &record)?;
                if !matches!(absorbed, Absorbed::Taken) {
                    newer.push(record.entry(entry.key, now));
                }
            }
            None => put(connection, &entry.key, &CooldownRecord::new(&entry, now))?,
        }
    }
    let _ = connection.prepare_cached(DELETE_OLD)?.execute([row::stamp(now.before(GRACE))])?;
    Ok(newer)
}

fn look_up(
    connection: &Connection,
    keys: Vec<CooldownKey>,
    now: Stamp,
) -> rusqlite::Result<Vec<CooldownEntry>> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(record) = find(connection, &key)? {
            found.push(record.entry(key, now));
        }
    }
    Ok(found)
}

impl CooldownStore for SqliteStore {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn load(&self, now: Stamp) -> StoreFuture<'_, Loaded> {
        Box::pin(self.cooldowns(move |connection| load(connection, now)))
    }

    fn save(&self, entries: Vec<CooldownEntry>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        Box::pin(self.cooldowns(move |connection| save(connection, entries, now)))
    }

    fn look_up(&self, keys: Vec<CooldownKey>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        Box::pin(self.cooldowns(move |connection| look_up(connection, keys, now)))
    }

    fn note(&self) -> Option<String> {
        Self::note(self)
    }
}
