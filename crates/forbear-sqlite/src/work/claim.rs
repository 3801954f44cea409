use forbear_core::store::{Claims, Kept};
use forbear_core::work::{Claimed, Phase, SourceName, Terms};
use rusqlite::Connection;

use super::sql::{self, Found};

/// So many rows are dealt with in one call: a store in which every lease is over does not hold up all others.
const AT_MOST: usize = 10_000;
/// So many are read at once.
const PAGE: usize = 1_000;

pub(super) fn claim(
    connection: &Connection,
    source: &SourceName,
    limit: usize,
    terms: &Terms,
) -> rusqlite::Result<Claims> {
    let mut claims = Claims::default();
    let Some(source) = sql::source(connection, source)? else { return Ok(claims) };
    let mut dealt: usize = 0;
    while claims.claimed.len() < limit {
        if dealt >= AT_MOST {
            claims.more = true;
            break;
        }
        let wanted = limit.saturating_sub(claims.claimed.len()).min(PAGE);
        let ready = ready(connection, source, wanted, terms)?;
        if ready.is_empty() {
            break;
        }
        dealt = dealt.saturating_add(ready.len());
        for found in ready {
            let Found::Row(Kept { key, mut row }) = found else {
                sql::drop_found(connection, source, &found)?;
                continue;
            };
            match row.claim(terms) {
                Claimed::Claimed { reclaimed } => {
                    claims.reclaimed = claims.reclaimed.saturating_add(u64::from(reclaimed));
                    sql::update(connection, source, &key, &row)?;
                    claims.claimed.push(Kept { key, row });
                }
                Claimed::Failed => {
                    sql::update(connection, source, &key, &row)?;
                    claims.failed.push(key);
                }
                Claimed::Gone => sql::delete(connection, source, &key)?,
                // Only by the index: that is to agree with it.
                Claimed::NotReady => sql::update(connection, source, &key, &row)?,
            }
        }
    }
    Ok(claims)
}

/// The rows that are ready first, of equal ones by key: those that wait, and those whose lease is over.
fn ready(connection: &Connection, source: i64, limit: usize, terms: &Terms) -> rusqlite::Result<Vec<Found>> {
    let waiting = sql::ready(connection, source, sql::WAITING, terms.now, limit)?;
    let running = sql::ready(connection, source, sql::RUNNING, terms.now, limit)?;
    if running.is_empty() {
        return Ok(waiting);
    }
    let mut all: Vec<_> = waiting.into_iter().chain(running).collect();
    all.sort_by(|one, other| order(one).cmp(&order(other)));
    all.truncate(limit);
    Ok(all)
}

fn order(found: &Found) -> (Option<forbear_core::work::Stamp>, &str) {
    match found {
        Found::Row(Kept { key, row }) => {
            let ready = match row.phase {
                Phase::Running(claim) => claim.until,
                _ => row.due,
            };
            (Some(ready), key.as_str())
        }
        Found::Broken(key) => (None, key),
    }
}
