//! Instructions per call, counted by valgrind's callgrind.
//!
//! A bench runs itself once more under callgrind, which counts only what happens inside `measured` and writes a
//! file for each call. So one run counts every row, over a warm program, with no start-up in it.

use std::ffi::OsStr;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Call;

/// The argument of the run under callgrind; the names of the rows follow.
pub const INSIDE: &str = "--inside-callgrind";

const CALLS: u64 = 1_000;
const WARM: usize = 100;

/// Runs this program under callgrind with [`INSIDE`] and `names`; its files, in the order of the calls of [`inside`], of
/// which there are `files`. They lie in a folder of `directory`.
///
/// # Errors
/// Says what is missing where valgrind cannot be run.
pub fn run<S: AsRef<OsStr>>(directory: &str, names: &[S], files: usize) -> Result<Vec<PathBuf>, String> {
    let directory = Path::new(directory).join("callgrind");
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
    Ok(numbered.take_while(|file| file.exists()).take(files).collect())
}

/// In the run under callgrind: warms `call`, at least `round` times, and measures it.
pub fn inside(call: &mut Call, round: usize) {
    (0..round.max(WARM)).for_each(|_| call());
    one_file(call);
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

/// The instructions per call in one of the files.
///
/// # Errors
/// Says what is wrong with a file that cannot be read.
pub fn per_call(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let total = text.lines().find_map(|line| line.strip_prefix("summary:").or(line.strip_prefix("totals:")));
    let total: u64 =
        total.and_then(|total| total.trim().parse().ok()).ok_or("no total in callgrind's file")?;
    Ok((total + CALLS / 2) / CALLS)
}
