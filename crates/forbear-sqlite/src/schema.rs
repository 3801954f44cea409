//! The tables, and how a file of an earlier version gets them.

use forbear_core::partition::PartitionKey;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

/// Written into the head of the file: `Frbr`.
pub(crate) const APPLICATION: i64 = 0x4672_6272;

/// Each brings a file from the version before to its own; the first one is version 1.
const STEPS: &[&str] = &[
    "
    CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE cooldowns (
        family TEXT NOT NULL,
        automatic INTEGER NOT NULL,
        part INTEGER NOT NULL,
        label TEXT,
        epoch INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        level INTEGER NOT NULL,
        until_ms INTEGER NOT NULL,
        length_ms INTEGER NOT NULL,
        saved_ms INTEGER NOT NULL,
        open INTEGER NOT NULL,
        pace REAL,
        struck TEXT,
        by_who TEXT,
        by_why TEXT,
        pause_who TEXT,
        pause_why TEXT,
        pause_ms INTEGER,
        forget_ms INTEGER NOT NULL,
        PRIMARY KEY (family, automatic, part)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX cooldowns_forget ON cooldowns (forget_ms);
",
    "
    CREATE TABLE work_sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE work (
        source INTEGER NOT NULL,
        key TEXT NOT NULL,
        phase INTEGER NOT NULL,
        ready_ms INTEGER,
        due_ms INTEGER NOT NULL,
        earliest_ms INTEGER NOT NULL,
        token INTEGER,
        again INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        deferrals INTEGER NOT NULL,
        deferred_since_ms INTEGER,
        done_ms INTEGER,
        error TEXT,
        reasons TEXT NOT NULL,
        PRIMARY KEY (source, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX work_ready ON work (source, phase, ready_ms);
",
];

/// What this program reads and writes.
pub(crate) fn version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the file up to date, and says with which key it hashes.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<PartitionKey> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    if done < STEPS.len() {
        transaction.pragma_update(None, "user_version", version())?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    let key = "SELECT value FROM meta WHERE name = 'partition_key'";
    let kept: Option<[u8; 16]> = transaction.query_row(key, [], |row| row.get(0)).optional()?;
    let key = match kept {
        Some(bytes) => PartitionKey::from_bytes(bytes),
        None => {
            let key = PartitionKey::of_process();
            let insert = "INSERT INTO meta (name, value) VALUES ('partition_key', ?1)";
            transaction.execute(insert, params![key.as_bytes()])?;
            key
        }
    };
    transaction.commit()?;
    Ok(key)
}
