//! What is only looked at.

use forbear_core::store::{Kept, Rows};
use forbear_core::work::{SourceName, Stamp};
use rusqlite::Connection;

use super::sql::{self, Found};

pub(super) fn next(connection: &Connection, source: &SourceName) -> rusqlite::Result<Option<Stamp>> {
    let Some(source) = sql::source(connection, source)? else { return Ok(None) };
    let waiting = sql::first(connection, source, sql::WAITING)?;
    let running = sql::first(connection, source, sql::RUNNING)?;
    Ok(waiting.into_iter().chain(running).min())
}

pub(super) fn page(connection: &Connection, source: &SourceName, page: &Rows) -> rusqlite::Result<Vec<Kept>> {
    let Some(source) = sql::source(connection, source)? else { return Ok(Vec::new()) };
    let after = page.after.as_ref().map_or("", |key| key.as_str());
    if !page.troubled {
        return Ok(rows(sql::page(connection, source, after, page.limit)?));
    }
    let failed = sql::troubled(connection, source, sql::FAILED, after, page.limit)?;
    let stalled = sql::troubled(connection, source, sql::STALLED, after, page.limit)?;
    let mut all = rows(failed.into_iter().chain(stalled));
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all.truncate(page.limit);
    Ok(all)
}

pub(super) fn rows(found: impl IntoIterator<Item = Found>) -> Vec<Kept> {
    let row = |found| match found {
        Found::Row(kept) => Some(kept),
        Found::Broken(_) => None,
    };
    found.into_iter().filter_map(row).collect()
}
