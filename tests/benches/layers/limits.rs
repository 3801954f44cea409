//! How many instructions the layers may cost: a check that fails on a regression, part of `cargo xtask ci`.

use crate::instructions::Count;
use crate::rows::{self, Row};

/// By row, over its floor: over a client that is ready at once, and over one that is pending once. A tenth above what was
/// counted last, since the count moves with the seeds of the hash tables and with where memory lies, which the
/// environment's size shifts; lowered when a call becomes cheaper.
const LIMITS: [(&str, u64, u64); 15] = [
    (rows::BUDGET_ALONE, 470, 1_310),
    (rows::RETRY_AFTER_ALONE, 570, 600),
    (rows::GATE, 1_120, 1_130),
    (rows::BUCKETS, 1_600, 1_610),
    (rows::BUCKET, 1_940, 1_950),
    (rows::LIMITED, 2_160, 2_170),
    (rows::HEALTHY, 990, 1_000),
    (rows::THREE, 1_910, 2_850),
    (rows::REPLAY, 3_950, 4_890),
    (rows::UNPACED, 235, 245),
    (rows::UNLIMITED, 310, 320),
    (rows::WINDOW, 730, 740),
    (rows::IN_FLIGHT, 795, 805),
    (rows::FOUR, 2_350, 3_320),
    (rows::PACED, 2_890, 3_860),
];

/// The rows that have a limit, and their floors.
pub(crate) fn limited(rows: &[Row]) -> Vec<&Row> {
    let has_limit = |name| LIMITS.iter().any(|(limited, ..)| *limited == name);
    rows.iter().filter(|row| row.name == row.floor || has_limit(row.name)).collect()
}

/// Prints every row beside its limit; false where one is over it.
pub(crate) fn hold(rows: &[&Row], counts: &[Count]) -> bool {
    let counted = |name| rows.iter().zip(counts).find(|(row, _)| row.name == name);
    let mut held = true;
    println!("{:<34} {:>10} {:>10}   instructions over its floor", "", "counted", "limit");
    for (name, ready, pending) in LIMITS {
        let Some((row, count)) = counted(name) else {
            println!("{name}: no such row");
            held = false;
            continue;
        };
        let Some((_, floor)) = counted(row.floor) else { continue };
        let over = count.over(*floor);
        for (when, counted, limit) in [("ready", over.ready, ready), ("pending", over.pending, pending)] {
            let verdict = if counted > limit { "TOO MANY" } else { "" };
            held &= counted <= limit;
            println!("{name:<34} {counted:>10} {limit:>10}   {when} {verdict}");
        }
    }
    held
}
