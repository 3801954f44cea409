//! What is only looked at.

use forbear_core::store::{Kept, Rows};
use forbear_core::work::{Bounds, SourceName, Stamp, Tally};
use rusqlite::Connection;

use crate::row::stamp;

use super::sql::{self, Found};

pub(super) fn next(connection: &Connection, source: &SourceName) -> rusqlite::Result<Option<Stamp>> {
    let Some(source) = sql::source(connection, source)? else { return Ok(None) };
    let waiting = sql::first(connection, source, sql::WAITING)?;
    let running = sql::first(connection, source, sql::RUNNING)?;
    Ok(waiting.into_iter().chain(running).min())
}

pub(super) fn tally(connection: &Connection, source: &SourceName, now: Stamp) -> rusqlite::Result<Tally> {
    let next = next(connection, source)?;
    let Some(source) = sql::source(connection, source)? else { return Ok(Tally::new()) };
    let count = |phase| sql::count(connection, source, phase);
    let due = |phase| sql::count_due(connection, source, phase, now);
    Ok(Tally {
        waiting: count(sql::WAITING)?,
        running: count(sql::RUNNING)?,
        failed: count(sql::FAILED)?,
        stalled: count(sql::STALLED)?,
        due: due(sql::WAITING)?.saturating_add(due(sql::RUNNING)?),
        oldest_due: next.filter(|next| *next <= now),
        next,
    })
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

/// Rows whose times lie further ahead than they may.
pub(super) fn too_far(connection: &Connection, source: i64, bounds: &Bounds) -> rusqlite::Result<Vec<Kept>> {
    let Bounds { now, due, lease } = *bounds;
    let limits = [source, stamp(now.after(due)), stamp(now.after(lease)), stamp(now)];
    Ok(rows(sql::too_far(connection, limits)?))
}

fn rows(found: impl IntoIterator<Item = Found>) -> Vec<Kept> {
    let row = |found| match found {
        Found::Row(kept) => Some(kept),
        Found::Broken(_) => None,
    };
    found.into_iter().filter_map(row).collect()
}
