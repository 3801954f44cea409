//! Responses on their way into the file.

use std::cmp::Reverse;

use forbear_core::store::{PurgeResponses, ResponseKey, StoredResponse};
use forbear_core::work::Stamp;
use rusqlite::Connection;

use super::evict::make_room;
use super::row::Head;
use super::{Shared, sql};

pub(super) fn put(
    connection: &Connection,
    shared: &Shared,
    responses: &[StoredResponse],
    at: Stamp,
) -> rusqlite::Result<()> {
    if sql::secret(connection)? != Some(shared.secret) {
        return Ok(());
    }
    let was_at = match shared.was_at(connection)? {
        Some(was_at) => was_at,
        None => {
            begin_anew(connection)?;
            Stamp::EPOCH
        }
    };
    for response in responses {
        put_one(connection, shared, response, at)?;
    }
    sql::is_at(connection, at.max(was_at))
}

fn put_one(
    connection: &Connection,
    shared: &Shared,
    response: &StoredResponse,
    now: Stamp,
) -> rusqlite::Result<()> {
    let mut known = sql::variants(connection, response.key)?;
    let same = known.iter().find(|(_, variant, _)| *variant == response.variant).map(|(id, ..)| *id);
    let head = Head::of(response, now, &shared.secret);
    if let Some(id) = same {
        // What was confirmed has the same body, which need not be written again.
        if response.bytes() <= shared.most && sql::has_body(connection, id, &response.body)? {
            sql::update(connection, id, &head)?;
            return make_room(connection, 0, shared.most);
        }
        sql::delete(connection, id)?;
        known.retain(|(known, ..)| *known != id);
    }
    if response.bytes() > shared.most {
        return Ok(());
    }
    if known.len() >= ResponseKey::VARIANTS {
        known.sort_by_key(|(_, _, received)| Reverse(*received));
        for (id, ..) in known.iter().skip(ResponseKey::VARIANTS.saturating_sub(1)) {
            sql::delete(connection, *id)?;
        }
    }
    make_room(connection, response.bytes(), shared.most)?;
    sql::insert(connection, &head, &response.body)
}

/// The file says that it is a time which no clock can have meant: how old what it holds is nobody knows.
pub(super) fn begin_anew(connection: &Connection) -> rusqlite::Result<()> {
    for id in sql::of(connection, &PurgeResponses::All, usize::MAX)? {
        sql::delete(connection, id)?;
    }
    sql::is_at(connection, Stamp::EPOCH)
}
