//! A row of the table `work`.

use forbear_core::store::Kept;
use forbear_core::work::{Claim, DemandReason, Key, LastError, Phase, Reasons, Row, Stamp, Token};

use crate::row::{read_stamp, stamp};

use super::sql::{FAILED, Found, RUNNING, STALLED, WAITING};

/// All columns but the source, in the order in which they are read.
pub(super) const COLUMNS: &str = "key, phase, ready_ms, due_ms, earliest_ms, token, again, attempts, deferrals, \
     deferred_since_ms, done_ms, error, reasons";

/// Names of reasons hold no character that is not shown.
const BETWEEN: char = '\n';

/// What a row is written as.
pub(super) struct Written {
    pub(super) phase: i64,
    pub(super) ready: Option<i64>,
    pub(super) due: i64,
    pub(super) earliest: i64,
    pub(super) token: Option<i64>,
    pub(super) deferred_since: Option<i64>,
    pub(super) done: Option<i64>,
    pub(super) reasons: String,
}

impl Written {
    pub(super) fn of(row: &Row) -> Self {
        let (phase, token) = match row.phase {
            Phase::Waiting => (WAITING, None),
            Phase::Running(claim) => (RUNNING, Some(claim.token.0.cast_signed())),
            Phase::Failed => (FAILED, None),
            Phase::Stalled => (STALLED, None),
        };
        let mut reasons = String::new();
        for reason in row.reasons.iter() {
            if !reasons.is_empty() {
                reasons.push(BETWEEN);
            }
            reasons.push_str(reason.as_str());
        }
        Self {
            phase,
            ready: row.ready().map(stamp),
            due: stamp(row.due),
            earliest: stamp(row.earliest),
            token,
            deferred_since: row.deferred_since.map(stamp),
            done: row.done.map(stamp),
            reasons,
        }
    }
}

/// Reads a row; what is in it may be anything of its columns' types.
pub(super) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Found> {
    let text: String = row.get(0)?;
    let Ok(key) = Key::new(&text) else { return Ok(Found::Broken(text)) };
    let number = |at: usize| row.get::<_, i64>(at);
    let time = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(read_stamp));
    let count = |at: usize| Ok::<_, rusqlite::Error>(u32::try_from(number(at)?.max(0)).unwrap_or(u32::MAX));
    let phase = match (number(1)?, time(2)?, row.get::<_, Option<i64>>(5)?) {
        (WAITING, _, _) => Phase::Waiting,
        (RUNNING, until, Some(token)) => Phase::Running(Claim {
            token: Token(token.cast_unsigned()),
            until: until.unwrap_or(Stamp::EPOCH),
        }),
        (FAILED, _, _) => Phase::Failed,
        (STALLED, _, _) => Phase::Stalled,
        _ => return Ok(Found::Broken(text)),
    };
    let reasons: String = row.get(12)?;
    let reasons: Reasons =
        reasons.split(BETWEEN).filter_map(|reason| DemandReason::new(reason).ok()).collect();
    let row = Row {
        reasons,
        phase,
        due: read_stamp(number(3)?),
        earliest: read_stamp(number(4)?),
        again: number(6)? != 0,
        attempts: count(7)?,
        deferrals: count(8)?,
        deferred_since: time(9)?,
        done: time(10)?,
        error: row.get::<_, Option<String>>(11)?.map(|error| LastError::new(&error)),
    };
    Ok(Found::Row(Kept { key, row }))
}
