//! A bench of rows whose instructions are counted over the floor, which is the first of them.
//!
//! | argument | does |
//! |---|---|
//! | none | measures everything, and prints one table |
//! | `--check` | counts instructions, and fails where a row is over its limit |
//! | `--profile ROW` | leaves callgrind's file of one row for `callgrind_annotate` |

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Call, allocations, callgrind, time};

/// One row of the table.
pub struct Row {
    /// What it is called in the table, and after `--profile`.
    pub name: &'static str,
    /// The most instructions over the floor, where that is checked: a tenth above what was counted last.
    pub limit: Option<u64>,
    /// Makes what is called again and again.
    pub make: Box<dyn Fn() -> Call>,
}

/// The body of such a bench, whose files lie in `directory`; one such call as `what` says costs what a row tells.
#[must_use]
pub fn run(rows: &[Row], directory: &str, what: &str) -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let done = match arguments.first().map(String::as_str) {
        None => measure(rows, directory),
        Some("--check") => check(rows, directory, what),
        Some("--profile") => files(&arguments[1..], directory).map(|files| println!("{files:#?}")),
        Some(callgrind::INSIDE) => {
            for name in &arguments[1..] {
                if let Some(row) = rows.iter().find(|row| row.name == name) {
                    callgrind::inside(&mut (row.make)(), 0);
                }
            }
            Ok(())
        }
        Some(other) => Err(format!("unknown argument `{other}`")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn files<S: AsRef<OsStr>>(names: &[S], directory: &str) -> Result<Vec<PathBuf>, String> {
    callgrind::run(directory, names, names.len())
}

/// The instructions of each row over the first; of that, its own.
fn count(rows: &[&Row], directory: &str) -> Result<Vec<u64>, String> {
    let names: Vec<_> = rows.iter().map(|row| row.name).collect();
    let files = files(&names, directory)?;
    if files.len() != rows.len() {
        return Err(format!("callgrind wrote {} files for {} rows", files.len(), rows.len()));
    }
    let mut counts = files.iter().map(|file| callgrind::per_call(file)).collect::<Result<Vec<_>, _>>()?;
    if let [floor, over @ ..] = counts.as_mut_slice() {
        over.iter_mut().for_each(|count| *count = count.saturating_sub(*floor));
    }
    Ok(counts)
}

fn check(rows: &[Row], directory: &str, what: &str) -> Result<(), String> {
    let floor = rows.iter().take(1);
    let limited: Vec<_> = floor.chain(rows.iter().skip(1).filter(|row| row.limit.is_some())).collect();
    println!("{:<42} {:>10} {:>10}   instructions over the floor", "", "counted", "limit");
    let mut held = true;
    for (row, counted) in limited.iter().zip(count(&limited, directory)?) {
        let Some(limit) = row.limit else { continue };
        let verdict = if counted > limit { "TOO MANY" } else { "" };
        held &= counted <= limit;
        println!("{:<42} {counted:>10} {limit:>10}   {verdict}", row.name);
    }
    match held {
        true => Ok(()),
        false => Err(format!(
            "{what} costs more instructions than it may; make it cheaper, or raise the limit and say why"
        )),
    }
}

fn measure(rows: &[Row], directory: &str) -> Result<(), String> {
    let counts = count(&rows.iter().collect::<Vec<_>>(), directory)?;
    println!("\n| | instructions, over the floor | ns | allocations |\n|---|---|---|---|");
    for (row, instructions) in rows.iter().zip(counts) {
        let mut call = (row.make)();
        let (nanoseconds, allocations) = (time::least(&mut call), allocations::of(&mut call, 0));
        println!("| {} | {instructions} | {nanoseconds:.0} | {allocations} |", row.name);
    }
    Ok(())
}
