//! Responses on their way out of the file.

use std::cmp::Reverse;
use std::time::Duration;

use forbear_core::store::{FoundResponses, ResponseKey, StoredResponse};
use forbear_core::work::Stamp;
use rusqlite::Connection;

use super::{Shared, put, sql};

/// What was used so long ago is noted to be used; what was used later counts as used now.
const USED: Duration = Duration::from_secs(60 * 60);
/// The file is told how late it is, where it knows no better than that.
const TOLD: Duration = Duration::from_secs(60);

/// What was found, and what is to be written for it.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub(super) found: FoundResponses,
    pub(super) then: Then,
}

/// What a look leaves to be written. Losing it does no harm.
#[derive(Debug, Default)]
pub(super) struct Then {
    used: Vec<i64>,
    drop: Vec<i64>,
    now: Option<Stamp>,
    anew: bool,
}

pub(super) fn find(
    connection: &Connection,
    shared: &Shared,
    key: ResponseKey,
    at: Stamp,
) -> rusqlite::Result<Looked> {
    let mut looked = Looked::default();
    if sql::secret(connection)? != Some(shared.secret) {
        return Ok(looked);
    }
    let Some(was_at) = shared.was_at(connection)? else {
        let rows = usize::try_from(sql::kept(connection)?.responses).unwrap_or(usize::MAX);
        looked.then.anew = true;
        looked.found.dropped = rows;
        return Ok(looked);
    };
    let then = &mut looked.then;
    if at.since(was_at) > TOLD {
        then.now = Some(at);
    }
    // Another process may have written since, or be ahead.
    let now = at.max(was_at);
    let mut kept = Vec::new();
    for found in sql::under(connection, key)? {
        match found.row {
            Some(row) if row.received <= now && row.is_whole(&shared.secret) => {
                if now.since(row.used) > USED || row.used > now {
                    then.used.push(found.id);
                }
                kept.push((Reverse((row.received, found.id)), row));
            }
            _ => then.drop.push(found.id),
        }
    }
    kept.sort_by_key(|(order, _)| *order);
    looked.found.dropped = then.drop.len();
    looked.found.responses = kept
        .into_iter()
        .map(|(_, row)| StoredResponse { age: now.since(row.received), ..row.response })
        .collect();
    Ok(looked)
}

impl Then {
    pub(super) fn is_nothing(&self) -> bool {
        self.used.is_empty() && self.drop.is_empty() && self.now.is_none() && !self.anew
    }

    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        if self.anew {
            // Unless somebody did.
            return if sql::was_at(connection)?.is_none() { put::begin_anew(connection) } else { Ok(()) };
        }
        for id in &self.drop {
            sql::delete(connection, *id)?;
        }
        let Some(known) = sql::was_at(connection)? else { return Ok(()) };
        let now = self.now.map_or(known, |now| now.max(known));
        for id in &self.used {
            sql::was_used(connection, *id, now)?;
        }
        sql::is_at(connection, now)
    }
}
