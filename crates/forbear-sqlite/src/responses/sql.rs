//! Every statement about responses. Each finds its rows by an index.

use forbear_core::store::{KeptResponses, PurgeResponses, ResponseKey, ResponseSecret};
use forbear_core::work::Stamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::row::{COLUMNS, Found, Head, read};
use crate::row::{read_stamp, stamp};

const DELETE: &str = "DELETE FROM responses WHERE id = ?1";
const DELETE_KEY: &str = "DELETE FROM responses WHERE what = ?1 AND whose = ?2";
const VARIANTS: &str = "SELECT id, variant, received_ms FROM responses WHERE what = ?1 AND whose = ?2";
const INSERT: &str = "INSERT INTO responses (what, whose, variant, host, family, status, received_ms, used_ms, bytes, sum, fields) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const INSERT_BODY: &str = "INSERT OR REPLACE INTO response_bodies (id, body) VALUES (?1, ?2)";
const UPDATE: &str = "UPDATE responses SET host = ?2, family = ?3, status = ?4, received_ms = ?5, used_ms = ?6, bytes = ?7, sum = ?8, \
     fields = ?9 WHERE id = ?1";
const SAME_BODY: &str = "SELECT body = ?2 FROM response_bodies WHERE id = ?1";
const USE: &str = "UPDATE responses SET used_ms = ?2 WHERE id = ?1";
const LEAST_USED: &str = "SELECT id FROM responses WHERE used_ms >= ?1 ORDER BY used_ms, id LIMIT 1";
const KEPT: &str = "SELECT responses, bytes FROM response_totals WHERE id = 1";
/// How many rows there are, and of those that count for what a response can: how many, and how many bytes.
const FOUND: &str = "SELECT count(*), count(CASE WHEN bytes BETWEEN 256 AND 1099511627776 THEN 1 END), \
     coalesce(sum(CASE WHEN bytes BETWEEN 256 AND 1099511627776 THEN bytes END), 0) FROM responses";
const COUNT: &str = "INSERT OR REPLACE INTO response_totals (id, responses, bytes) VALUES (1, ?1, ?2)";
const OF_HOST: &str = "SELECT id FROM responses WHERE host = ?1 LIMIT ?2";
const OF_FAMILY: &str = "SELECT id FROM responses WHERE family = ?1 LIMIT ?2";
const OF_ALL: &str = "SELECT id FROM responses WHERE id > ?1 LIMIT ?2";
const WAS_AT: &str = "SELECT value FROM meta WHERE name = 'response_clock'";
const IS_AT: &str = "INSERT OR REPLACE INTO meta (name, value) VALUES ('response_clock', ?1)";
const SECRET: &str = "SELECT value FROM meta WHERE name = 'response_secret'";

/// A clock that says more is none: the year 9999.
const LATEST: Stamp = Stamp::from_millis(253_402_300_799_999);

fn find() -> String {
    format!(
        "SELECT {COLUMNS} FROM responses CROSS JOIN response_bodies ON response_bodies.id = responses.id \
         WHERE what = ?1 AND whose = ?2"
    )
}

pub(crate) fn statements() -> Vec<String> {
    let all = [
        DELETE,
        DELETE_KEY,
        VARIANTS,
        INSERT,
        INSERT_BODY,
        UPDATE,
        SAME_BODY,
        USE,
        LEAST_USED,
        KEPT,
        OF_HOST,
        OF_FAMILY,
        OF_ALL,
        WAS_AT,
        IS_AT,
        SECRET,
    ];
    all.into_iter().map(str::to_owned).chain([find()]).collect()
}

/// Whether the tables are those that the statements are for.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    for statement in statements() {
        let _ = connection.prepare_cached(&statement)?;
    }
    Ok(())
}

fn bytes(hash: u128) -> [u8; 16] {
    hash.to_be_bytes()
}

/// All rows under a key, in no order.
pub(super) fn under(connection: &Connection, key: ResponseKey) -> rusqlite::Result<Vec<Found>> {
    let mut statement = connection.prepare_cached(&find())?;
    let rows = statement.query_map([bytes(key.what), bytes(key.whose)], read)?;
    rows.collect()
}

/// The variants under a key: number, hash, when each was received.
pub(super) fn variants(connection: &Connection, key: ResponseKey) -> rusqlite::Result<Vec<(i64, u128, i64)>> {
    let mut statement = connection.prepare_cached(VARIANTS)?;
    let rows = statement.query_map([bytes(key.what), bytes(key.whose)], |row| {
        let variant: Vec<u8> = row.get(1)?;
        // One that is none is the first to leave.
        let variant = variant.try_into().map_or(u128::MAX, u128::from_be_bytes);
        Ok((row.get(0)?, variant, row.get(2)?))
    })?;
    rows.collect()
}

pub(super) fn insert(connection: &Connection, head: &Head<'_>, body: &[u8]) -> rusqlite::Result<()> {
    let values = params![
        bytes(head.key.what),
        bytes(head.key.whose),
        bytes(head.variant),
        head.host,
        head.family,
        head.status,
        stamp(head.received),
        stamp(head.used),
        head.bytes,
        head.sum,
        head.fields,
    ];
    let id = connection.prepare_cached(INSERT)?.insert(values)?;
    connection.prepare_cached(INSERT_BODY)?.execute(params![id, body]).map(drop)
}

/// The same body with another head.
pub(super) fn update(connection: &Connection, id: i64, head: &Head<'_>) -> rusqlite::Result<()> {
    let values = params![
        id,
        head.host,
        head.family,
        head.status,
        stamp(head.received),
        stamp(head.used),
        head.bytes,
        head.sum,
        head.fields,
    ];
    connection.prepare_cached(UPDATE)?.execute(values).map(drop)
}

pub(super) fn has_body(connection: &Connection, id: i64, body: &[u8]) -> rusqlite::Result<bool> {
    let same = connection.prepare_cached(SAME_BODY)?.query_row(params![id, body], |row| row.get(0));
    same.optional().map(|same| same.unwrap_or(false))
}

pub(super) fn was_used(connection: &Connection, id: i64, now: Stamp) -> rusqlite::Result<()> {
    connection.prepare_cached(USE)?.execute(params![id, stamp(now)]).map(drop)
}

pub(super) fn least_used(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached(LEAST_USED)?.query_row([i64::MIN], |row| row.get(0)).optional()
}

/// Its body goes with it.
pub(super) fn delete(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    connection.prepare_cached(DELETE)?.execute([id]).map(drop)
}

pub(super) fn delete_key(connection: &Connection, key: ResponseKey) -> rusqlite::Result<()> {
    connection.prepare_cached(DELETE_KEY)?.execute([bytes(key.what), bytes(key.whose)]).map(drop)
}

pub(super) fn kept(connection: &Connection) -> rusqlite::Result<KeptResponses> {
    let kept = connection.prepare_cached(KEPT)?.query_row([], |row| {
        let number = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.max(0).unsigned_abs());
        Ok(KeptResponses { responses: number(0)?, bytes: number(1)? })
    });
    kept.optional().map(Option::unwrap_or_default)
}

/// Counts what there is, once when the file is opened: by a count that is wrong the file would grow without a bound, or keep nothing.
pub(crate) fn recount(connection: &Connection) -> rusqlite::Result<()> {
    let (all, responses, bytes): (i64, i64, i64) =
        connection.query_row(FOUND, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let known = connection.query_row(KEPT, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if all == responses && known == Some((responses, bytes)) {
        return Ok(());
    }
    // Without the count first: with it nothing could be taken out for which that has no room.
    let _ = connection.execute("DELETE FROM response_totals", [])?;
    let _ = connection.execute("DELETE FROM responses WHERE bytes NOT BETWEEN 256 AND 1099511627776", [])?;
    connection.execute(COUNT, [responses, bytes]).map(drop)
}

/// Some of those that are to be purged.
pub(super) fn of(connection: &Connection, what: &PurgeResponses, most: usize) -> rusqlite::Result<Vec<i64>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let (statement, name) = match what {
        PurgeResponses::Host(host) => (OF_HOST, Some(host)),
        PurgeResponses::Family(family) => (OF_FAMILY, Some(family)),
        _ => (OF_ALL, None),
    };
    let mut statement = connection.prepare_cached(statement)?;
    let id = |row: &rusqlite::Row<'_>| row.get(0);
    match name {
        Some(name) => statement.query_map(params![&**name, most], id)?.collect(),
        None => statement.query_map([i64::MIN, most], id)?.collect(),
    }
}

/// The latest of the store's own times that was written; `None` where that is none.
pub(crate) fn was_at(connection: &Connection) -> rusqlite::Result<Option<Stamp>> {
    let found: Option<Vec<u8>> =
        connection.prepare_cached(WAS_AT)?.query_row([], |row| row.get(0)).optional()?;
    let Some(found) = found else { return Ok(Some(Stamp::EPOCH)) };
    let at = found.try_into().ok().map(|bytes| read_stamp(i64::from_be_bytes(bytes)));
    Ok(at.filter(|at| *at <= LATEST))
}

pub(super) fn is_at(connection: &Connection, now: Stamp) -> rusqlite::Result<()> {
    let bytes = stamp(now.min(LATEST)).to_be_bytes();
    connection.prepare_cached(IS_AT)?.execute([&bytes[..]]).map(drop)
}

pub(super) fn secret(connection: &Connection) -> rusqlite::Result<Option<ResponseSecret>> {
    let kept = connection.prepare_cached(SECRET)?.query_row([], |row| row.get(0)).optional()?;
    Ok(kept.map(ResponseSecret::from_bytes))
}
