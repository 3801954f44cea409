//! A row of the table `cooldowns`.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::Operator;
use forbear_core::partition::Partition;
use forbear_core::store::{CooldownKey, CooldownRecord, Part, struck_from_json, struck_to_json};
use forbear_core::work::Stamp;
use rusqlite::{Row, ToSql};

/// All columns, in the order in which they are read and written.
pub(crate) const COLUMNS: &str = "family, automatic, part, label, epoch, generation, level, until_ms, length_ms, saved_ms, \
     open, pace, struck, by_who, by_why, pause_who, pause_why, pause_ms, forget_ms";

/// A part as the table has it: an integer with the bits of its hash.
pub(crate) fn part(key: &CooldownKey) -> i64 {
    Part::stored(key.part.as_ref()).cast_signed()
}

pub(crate) fn write(
    key: &CooldownKey,
    record: &CooldownRecord,
    run: impl FnOnce(&[&dyn ToSql]) -> rusqlite::Result<usize>,
) -> rusqlite::Result<()> {
    let by = record.by.as_ref();
    let pause = record.pause.as_ref();
    let struck = record.struck.as_deref().map(struck_to_json);
    let _ = run(&[
        &&*key.family,
        &key.automatic,
        &part(key),
        &key.part.as_ref().map(|part| &*part.label),
        &record.epoch,
        &record.generation,
        &record.level,
        &stamp(record.until),
        &millis(record.length),
        &stamp(record.saved),
        &record.open,
        &record.pace,
        &struck,
        &by.map(Operator::who),
        &by.map(Operator::why),
        &pause.map(|(by, _)| by.who()),
        &pause.map(|(by, _)| by.why()),
        &pause.map(|(_, at)| stamp(*at)),
        &stamp(record.forget_at()),
    ])?;
    Ok(())
}

/// Reads a row; what is in it may be anything of its columns' types. An error is one of the file.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Option<(CooldownKey, CooldownRecord)>> {
    let text = |at: usize| row.get::<_, Option<String>>(at);
    let number = |at: usize| row.get::<_, i64>(at);
    let small = |at: usize| Ok::<_, rusqlite::Error>(u32::try_from(number(at)?).ok());
    let operator = |who: Option<String>, why: Option<String>| {
        who.map(|who| Operator::new(&who, &why.unwrap_or_default()))
    };
    let family: String = row.get(0)?;
    let hash = number(2)?.cast_unsigned();
    let label = text(3)?;
    let part = (hash != 0)
        .then(|| Part { of: Partition::from_stored(hash), label: label.unwrap_or_default().into() });
    let key = CooldownKey { family: family.into(), automatic: number(1)? != 0, part };
    let (Some(epoch), Some(generation)) = (small(4)?, small(5)?) else { return Ok(None) };
    let paused = row.get::<_, Option<i64>>(17)?;
    let record = CooldownRecord {
        epoch,
        generation,
        level: u8::try_from(number(6)?).unwrap_or(u8::MAX),
        until: read_stamp(number(7)?),
        length: Duration::from_millis(u64::try_from(number(8)?).unwrap_or_default()),
        saved: read_stamp(number(9)?),
        open: number(10)? != 0,
        pace: row.get(11)?,
        struck: text(12)?.and_then(|json| struck_from_json(&json)).map(Arc::new),
        by: operator(text(13)?, text(14)?),
        pause: operator(text(15)?, text(16)?).zip(paused.map(read_stamp)),
    };
    Ok(Some((key, record)))
}

pub(crate) fn stamp(stamp: Stamp) -> i64 {
    i64::try_from(stamp.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn read_stamp(millis: i64) -> Stamp {
    Stamp::from_millis(u64::try_from(millis).unwrap_or_default())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
