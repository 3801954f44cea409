//! Room for what comes.

use rusqlite::Connection;

use super::sql;

/// So many leave at most when one comes: where the bound was lowered the rest leaves by and by.
const AT_ONCE: usize = 8_192;

/// Takes out what was used least lately, until there is room for so many bytes more.
pub(super) fn make_room(connection: &Connection, bytes: u64, most: u64) -> rusqlite::Result<()> {
    for _ in 0..AT_ONCE {
        if sql::kept(connection)?.bytes.saturating_add(bytes) <= most {
            break;
        }
        let Some(id) = sql::least_used(connection)? else { break };
        sql::delete(connection, id)?;
    }
    Ok(())
}

/// Takes out so many bytes, of what was used least lately.
pub(super) fn give(connection: &Connection, bytes: u64) -> rusqlite::Result<()> {
    let kept = sql::kept(connection)?.bytes;
    make_room(connection, 0, kept.saturating_sub(bytes))
}
