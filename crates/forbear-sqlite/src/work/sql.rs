//! Every statement about refresh work. Each finds its rows by an index.

use forbear_core::store::Kept;
use forbear_core::work::{Key, LastError, Row, SourceName, Stamp};
use rusqlite::{Connection, OptionalExtension, Params, ToSql, params};

use crate::row::{read_stamp, stamp};

use super::row::{COLUMNS, Written, read};

/// Phases as the table has them.
pub(super) const WAITING: i64 = 0;
pub(super) const RUNNING: i64 = 1;
pub(super) const FAILED: i64 = 2;
pub(super) const STALLED: i64 = 3;

/// What stands in the table.
pub(super) enum Found {
    /// A row.
    Row(Kept),
    /// Something under this name that is none.
    Broken(String),
}

const SOURCE: &str = "SELECT id FROM work_sources WHERE name = ?1";
const SOURCE_NEW: &str = "INSERT INTO work_sources (name) VALUES (?1)";
const INSERT: &str = "INSERT INTO work (source, key, phase, ready_ms, due_ms, earliest_ms, token, again, attempts, deferrals, \
     deferred_since_ms, done_ms, error, reasons) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
const UPDATE: &str = "UPDATE work SET phase = ?3, ready_ms = ?4, due_ms = ?5, earliest_ms = ?6, token = ?7, again = ?8, \
     attempts = ?9, deferrals = ?10, deferred_since_ms = ?11, done_ms = ?12, error = ?13, reasons = ?14 \
     WHERE source = ?1 AND key = ?2";
const DELETE: &str = "DELETE FROM work WHERE source = ?1 AND key = ?2";
const FIRST: &str =
    "SELECT min(ready_ms) FROM work WHERE source = ?1 AND phase = ?2 AND ready_ms IS NOT NULL";
// Of the index, from a place in it: as far as the last of so many, and what is left of the same time and of later ones.
const READY_NTH: &str = "SELECT ready_ms, key FROM work WHERE source = ?1 AND phase = ?2 AND (ready_ms, key) > (?3, ?4) \
     ORDER BY ready_ms, key LIMIT 1 OFFSET ?5";
const READY_SAME: &str =
    "SELECT count(*) FROM work WHERE source = ?1 AND phase = ?2 AND ready_ms = ?3 AND key > ?4";
const READY_LATER: &str =
    "SELECT count(*) FROM work WHERE source = ?1 AND phase = ?2 AND ready_ms > ?3 AND ready_ms <= ?4";
const TROUBLED_NTH: &str = "SELECT key FROM work WHERE source = ?1 AND phase = ?2 AND ready_ms IS NULL AND key > ?3 \
     ORDER BY key LIMIT 1 OFFSET ?4";
const TROUBLED_LEFT: &str =
    "SELECT count(*) FROM work WHERE source = ?1 AND phase = ?2 AND ready_ms IS NULL AND key > ?3";
const KEY_NTH: &str = "SELECT key FROM work WHERE source = ?1 AND key > ?2 ORDER BY key LIMIT 1 OFFSET ?3";

/// Those that read rows.
struct Reads {
    one: String,
    ready: String,
    page: String,
    troubled: String,
    too_far: String,
}

fn reads() -> &'static Reads {
    static READS: std::sync::OnceLock<Reads> = std::sync::OnceLock::new();
    READS.get_or_init(|| {
        let select = |rest: &str| format!("SELECT {COLUMNS} FROM work WHERE source = ?1 AND {rest}");
        Reads {
            one: select("key = ?2"),
            ready: select("phase = ?2 AND ready_ms <= ?3 ORDER BY ready_ms, key LIMIT ?4"),
            page: select("key > ?2 ORDER BY key LIMIT ?3"),
            troubled: select("phase = ?2 AND ready_ms IS NULL AND key > ?3 ORDER BY key LIMIT ?4"),
            too_far: select(
                "key > ?2 AND key <= ?3 AND (due_ms > ?4 OR (due_ms > ?5 AND attempts <= 0 AND deferrals <= 0) \
                 OR earliest_ms > ?6 OR (phase = 1 AND ready_ms > ?7) OR deferred_since_ms > ?8 OR done_ms > ?8 OR (phase = 0 AND ready_ms IS NOT due_ms) \
                 OR (phase = 1 AND ready_ms IS NULL))",
            ),
        }
    })
}

fn all() -> [&'static str; 17] {
    let Reads { one, ready, page, troubled, too_far } = reads();
    let writes = [SOURCE_NEW, INSERT, UPDATE, DELETE];
    let counts = [READY_NTH, READY_SAME, READY_LATER, TROUBLED_NTH, TROUBLED_LEFT, KEY_NTH];
    let [w1, w2, w3, w4] = writes;
    let [c1, c2, c3, c4, c5, c6] = counts;
    [SOURCE, w1, w2, w3, w4, FIRST, c1, c2, c3, c4, c5, c6, one, ready, page, troubled, too_far]
}

/// Whether the tables are those that the statements are for.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    for statement in all() {
        let _ = connection.prepare_cached(statement)?;
    }
    Ok(())
}

/// The number of a source; `None` where nothing of it was ever demanded.
pub(super) fn source(connection: &Connection, source: &SourceName) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached(SOURCE)?.query_row([source.as_str()], |row| row.get(0)).optional()
}

/// The same, given one where it has none.
pub(super) fn source_made(connection: &Connection, name: &SourceName) -> rusqlite::Result<i64> {
    match source(connection, name)? {
        Some(source) => Ok(source),
        None => connection.prepare_cached(SOURCE_NEW)?.insert([name.as_str()]),
    }
}

fn many(connection: &Connection, statement: &str, values: impl Params) -> rusqlite::Result<Vec<Found>> {
    let mut statement = connection.prepare_cached(statement)?;
    let rows = statement.query_map(values, read)?;
    rows.collect()
}

pub(super) fn find(connection: &Connection, source: i64, key: &Key) -> rusqlite::Result<Option<Row>> {
    let mut statement = connection.prepare_cached(&reads().one)?;
    match statement.query_row(params![source, key.as_str()], read).optional()? {
        Some(Found::Row(kept)) => Ok(Some(kept.row)),
        Some(found) => {
            drop_found(connection, source, &found)?;
            Ok(None)
        }
        None => Ok(None),
    }
}

pub(super) fn ready(
    connection: &Connection,
    source: i64,
    phase: i64,
    now: Stamp,
    limit: usize,
) -> rusqlite::Result<Vec<Found>> {
    many(connection, &reads().ready, [source, phase, stamp(now), most(limit)])
}

pub(super) fn page(
    connection: &Connection,
    source: i64,
    after: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Found>> {
    many(connection, &reads().page, params![source, after, most(limit)])
}

pub(super) fn troubled(
    connection: &Connection,
    source: i64,
    phase: i64,
    after: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Found>> {
    many(connection, &reads().troubled, params![source, phase, after, most(limit)])
}

/// Rows after `after` and up to `last`, or all after it, of which a time lies too far ahead, or that do not agree with the index.
pub(super) fn too_far(
    connection: &Connection,
    source: i64,
    [due, rest, earliest, until, now]: [i64; 5],
    (after, last): (&str, Option<&str>),
) -> rusqlite::Result<Vec<Found>> {
    // In the order of values a blob comes after every text.
    let end: &dyn ToSql = match &last {
        Some(last) => last,
        None => &([] as [u8; 0]),
    };
    many(connection, &reads().too_far, params![source, after, end, due, rest, earliest, until, now])
}

/// The key that is so many after `after`; `None` where there are fewer.
pub(super) fn key_after(
    connection: &Connection,
    source: i64,
    after: &str,
    rows: usize,
) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached(KEY_NTH)?;
    statement.query_row(params![source, after, offset(rows)], |row| row.get(0)).optional()
}

pub(super) fn first(connection: &Connection, source: i64, phase: i64) -> rusqlite::Result<Option<Stamp>> {
    let first: Option<i64> =
        connection.prepare_cached(FIRST)?.query_row([source, phase], |row| row.get(0))?;
    Ok(first.map(read_stamp))
}

/// A place in the index of what is ready.
pub(super) type Ready = (i64, String);

/// How many rows of a phase are ready after a place and not after a time, of the first `rows` of them; and the place to go on from,
/// where there may be more.
pub(super) fn count_ready(
    connection: &Connection,
    (source, phase): (i64, i64),
    ((ready, key), to): (&Ready, i64),
    rows: usize,
) -> rusqlite::Result<(u64, Option<Ready>)> {
    let values = params![source, phase, ready, key, offset(rows)];
    let mut statement = connection.prepare_cached(READY_NTH)?;
    let last: Option<Ready> = statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some(last) = last.filter(|(ready, _)| *ready <= to) {
        return Ok((u64::try_from(rows).unwrap_or(u64::MAX), Some(last)));
    }
    let count = |statement, values: &[&dyn ToSql]| -> rusqlite::Result<u64> {
        connection.prepare_cached(statement)?.query_row(values, |row| row.get(0)).map(i64::unsigned_abs)
    };
    let same = if *ready <= to { count(READY_SAME, &[&source, &phase, ready, key])? } else { 0 };
    let later = count(READY_LATER, &[&source, &phase, ready, &to])?;
    Ok((same.saturating_add(later), None))
}

/// The same of rows that are never ready, after a key.
pub(super) fn count_troubled(
    connection: &Connection,
    (source, phase): (i64, i64),
    after: &str,
    rows: usize,
) -> rusqlite::Result<(u64, Option<String>)> {
    let mut statement = connection.prepare_cached(TROUBLED_NTH)?;
    let last =
        statement.query_row(params![source, phase, after, offset(rows)], |row| row.get(0)).optional()?;
    if last.is_some() {
        return Ok((u64::try_from(rows).unwrap_or(u64::MAX), last));
    }
    let mut left = connection.prepare_cached(TROUBLED_LEFT)?;
    left.query_row(params![source, phase, after], |row| row.get(0))
        .map(|left: i64| (left.unsigned_abs(), None))
}

/// That of the last of so many rows.
fn offset(rows: usize) -> i64 {
    most(rows.saturating_sub(1))
}

pub(super) fn insert(connection: &Connection, source: i64, key: &Key, row: &Row) -> rusqlite::Result<()> {
    write(connection, INSERT, source, key, row)
}

pub(super) fn update(connection: &Connection, source: i64, key: &Key, row: &Row) -> rusqlite::Result<()> {
    write(connection, UPDATE, source, key, row)
}

fn write(
    connection: &Connection,
    statement: &str,
    source: i64,
    key: &Key,
    row: &Row,
) -> rusqlite::Result<()> {
    let Written { phase, ready, due, earliest, token, deferred_since, done, reasons } = Written::of(row);
    let error = row.error.as_ref().map(LastError::as_str);
    let values = params![
        source,
        key.as_str(),
        phase,
        ready,
        due,
        earliest,
        token,
        row.again,
        row.attempts,
        row.deferrals,
        deferred_since,
        done,
        error,
        reasons,
    ];
    connection.prepare_cached(statement)?.execute(values).map(drop)
}

pub(super) fn delete(connection: &Connection, source: i64, key: &Key) -> rusqlite::Result<()> {
    connection.prepare_cached(DELETE)?.execute(params![source, key.as_str()]).map(drop)
}

/// Takes out what is no row: nothing can become of it.
pub(super) fn drop_found(connection: &Connection, source: i64, found: &Found) -> rusqlite::Result<()> {
    let key = match found {
        Found::Row(kept) => kept.key.as_str(),
        Found::Broken(key) => key,
    };
    connection.prepare_cached(DELETE)?.execute(params![source, key]).map(drop)
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forbear_core::store::ResponseSecret;

    use crate::{cooldowns, responses, schema};

    /// How SQLite finds the rows of a statement.
    fn plan(connection: &Connection, statement: &str) -> Vec<String> {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let mut steps = explain.raw_query();
        let mut plan = Vec::new();
        while let Some(step) = steps.next().unwrap() {
            plan.push(step.get::<_, String>(3).unwrap());
        }
        plan
    }

    #[test]
    fn no_statement_scans_or_sorts() {
        let mut connection = Connection::open_in_memory().unwrap();
        let _ = schema::migrate(&mut connection, ResponseSecret::random()).unwrap();
        let others = cooldowns::statements().into_iter().chain(responses::statements());
        for statement in all().into_iter().map(str::to_owned).chain(others) {
            // All of them are read, once, and the first ones by the index.
            for step in plan(&connection, &statement) {
                assert!(step.starts_with("SEARCH "), "{step}: {statement}");
            }
        }
        let ready = plan(&connection, &reads().ready);
        assert_eq!(ready, ["SEARCH work USING INDEX work_ready (source=? AND phase=? AND ready_ms<?)"]);
        assert_eq!(
            plan(&connection, FIRST),
            ["SEARCH work USING COVERING INDEX work_ready (source=? AND phase=? AND ready_ms>?)"]
        );
    }
}
