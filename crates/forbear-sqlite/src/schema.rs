//! The tables, and how a file of an earlier version gets them.

use forbear_core::partition::PartitionKey;
use forbear_core::store::ResponseSecret;
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
    // A body is in a table of its own, so that to note a use of its row writes no more than that.
    "
    CREATE TABLE responses (
        id INTEGER PRIMARY KEY,
        what BLOB NOT NULL,
        whose BLOB NOT NULL,
        variant BLOB NOT NULL,
        host TEXT NOT NULL,
        family TEXT,
        status INTEGER NOT NULL,
        received_ms INTEGER NOT NULL,
        used_ms INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        sum INTEGER NOT NULL,
        fields BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX responses_key ON responses (what, whose, variant);
    CREATE INDEX responses_used ON responses (used_ms);
    CREATE INDEX responses_host ON responses (host);
    CREATE INDEX responses_family ON responses (family) WHERE family IS NOT NULL;
    CREATE TABLE response_bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
    CREATE TABLE response_totals (id INTEGER PRIMARY KEY, responses INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
    INSERT INTO response_totals (id, responses, bytes) VALUES (1, 0, 0);
    CREATE TRIGGER responses_came AFTER INSERT ON responses BEGIN
        UPDATE response_totals SET responses = responses + 1, bytes = bytes + new.bytes WHERE id = 1;
    END;
    CREATE TRIGGER responses_changed AFTER UPDATE OF bytes ON responses BEGIN
        UPDATE response_totals SET bytes = bytes + new.bytes - old.bytes WHERE id = 1;
    END;
    CREATE TRIGGER responses_went AFTER DELETE ON responses BEGIN
        UPDATE response_totals SET responses = responses - 1, bytes = bytes - old.bytes WHERE id = 1;
        DELETE FROM response_bodies WHERE id = old.id;
    END;
",
];

/// What this program reads and writes.
pub(crate) fn version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the file up to date, and says with which keys it hashes partitions, and those of responses; `secret` is that of a file that has none.
pub(crate) fn migrate(
    connection: &mut Connection,
    secret: ResponseSecret,
) -> rusqlite::Result<(PartitionKey, ResponseSecret)> {
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
    crate::responses::recount(&transaction)?;
    let key = kept(&transaction, "partition_key", || *PartitionKey::of_process().as_bytes())?;
    let secret = kept(&transaction, "response_secret", || *secret.as_bytes())?;
    transaction.commit()?;
    Ok((PartitionKey::from_bytes(key), ResponseSecret::from_bytes(secret)))
}

/// The key of this name in the file, or that which it gets.
fn kept(connection: &Connection, name: &str, new: impl FnOnce() -> [u8; 16]) -> rusqlite::Result<[u8; 16]> {
    let query = "SELECT value FROM meta WHERE name = ?1";
    let found: Option<[u8; 16]> = connection.query_row(query, [name], |row| row.get(0)).optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    let new = new();
    connection.execute("INSERT INTO meta (name, value) VALUES (?1, ?2)", params![name, new])?;
    Ok(new)
}
