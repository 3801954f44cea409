//! Instructions of the rows, counted by callgrind.

use std::path::PathBuf;

use forbear_benches::callgrind;

use crate::rows::Row;

/// Behind the names: only over a client that is ready at once, or only over one that is pending once. Callgrind names
/// the functions in its first file alone.
pub(crate) const ONLY: [&str; 2] = ["ready", "pending"];

/// Instructions per call of one row, over a client that is ready at once and over one that is pending once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) ready: u64,
    pub(crate) pending: u64,
}

impl Count {
    /// What a row costs beyond its floor.
    pub(crate) fn over(self, floor: Self) -> Self {
        let over = u64::saturating_sub;
        Self { ready: over(self.ready, floor.ready), pending: over(self.pending, floor.pending) }
    }
}

/// Counts `rows`.
///
/// # Errors
/// Says what is missing where valgrind cannot be run.
pub(crate) fn count(rows: &[&Row]) -> Result<Vec<Count>, String> {
    let names: Vec<_> = rows.iter().map(|row| row.name).collect();
    let files = files(&names)?;
    if files.len() != 2 * rows.len() {
        return Err(format!("callgrind wrote {} files for {} rows", files.len(), rows.len()));
    }
    let counts = files.iter().map(|file| callgrind::per_call(file)).collect::<Result<Vec<_>, _>>()?;
    Ok(counts.chunks(2).map(|pair| Count { ready: pair[0], pending: pair[1] }).collect())
}

/// Runs the named rows under callgrind; its files, in the order of the rows, ready before pending.
pub(crate) fn files<S: AsRef<std::ffi::OsStr>>(names: &[S]) -> Result<Vec<PathBuf>, String> {
    callgrind::run(env!("CARGO_TARGET_TMPDIR"), names, 2 * names.len())
}

/// The body of the run under callgrind.
pub(crate) fn inside(rows: &[Row], names: &[String]) {
    let only = ONLY.map(|when| names.iter().any(|name| name == when));
    for name in names {
        let Some(row) = rows.iter().find(|row| row.name == name) else { continue };
        for pending in [false, true] {
            if only[usize::from(!pending)] {
                continue;
            }
            callgrind::inside(&mut (row.make)(pending), row.round);
        }
    }
}
