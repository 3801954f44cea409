//! Instructions per call, counted by valgrind's callgrind.
//!
//! The bench runs itself once more under callgrind, which counts only what happens inside [`measured`] and writes a
//! file for each row. So one run counts every row, over a warm program, with no start-up in it.

use std::ffi::OsStr;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client::Call;
use crate::rows::Row;

/// The argument of the run under callgrind; the names of the rows follow.
pub(crate) const INSIDE: &str = "--inside-callgrind";
/// Behind the names: only over a client that is ready at once, or only over one that is pending once. Callgrind names
/// the functions in its first file alone.
pub(crate) const ONLY: [&str; 2] = ["ready", "pending"];

const CALLS: u64 = 1_000;
const WARM: usize = 100;

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
    let files = callgrind(&names)?;
    if files.len() != 2 * rows.len() {
        return Err(format!("callgrind wrote {} files for {} rows", files.len(), rows.len()));
    }
    let counts = files.iter().map(|file| per_call(file)).collect::<Result<Vec<_>, _>>()?;
    Ok(counts.chunks(2).map(|pair| Count { ready: pair[0], pending: pair[1] }).collect())
}

/// Runs the named rows under callgrind; its files, in the order of the rows, ready before pending.
pub(crate) fn callgrind<S: AsRef<OsStr>>(names: &[S]) -> Result<Vec<PathBuf>, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("callgrind");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let out = directory.join("out");
    let status = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .args(["--toggle-collect=*measured*", "--dump-after=*one_file*", "--quiet"])
        .arg(std::env::current_exe().map_err(|error| error.to_string())?)
        .arg(INSIDE)
        .args(names)
        .status()
        .map_err(|error| {
            format!("valgrind cannot be run ({error}); install it, on Debian with `apt-get install valgrind`")
        })?;
    if !status.success() {
        return Err(format!("valgrind ended with {status}"));
    }
    let numbered = (1..).map(|number| directory.join(format!("out.{number}")));
    // The last file is written at the end of the process, and holds nothing.
    Ok(numbered.take_while(|file| file.exists()).take(2 * names.len()).collect())
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
            let mut call = (row.make)(pending);
            (0..row.round.max(WARM)).for_each(|_| call());
            one_file(&mut call);
        }
    }
}

/// What callgrind counts.
#[inline(never)]
fn measured(call: &mut Call) {
    for _ in 0..CALLS {
        black_box(&mut *call)();
    }
}

/// Callgrind writes a file when this returns. It takes one order for a function, so this is not [`measured`] itself.
#[inline(never)]
fn one_file(call: &mut Call) {
    measured(call);
    black_box(());
}

fn per_call(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let total = text.lines().find_map(|line| line.strip_prefix("summary:").or(line.strip_prefix("totals:")));
    let total: u64 =
        total.and_then(|total| total.trim().parse().ok()).ok_or("no total in callgrind's file")?;
    Ok((total + CALLS / 2) / CALLS)
}
