//! What it costs to be served from memory, beside the store alone and another cache: `cargo bench -p forbear-benches --bench answers`;
//! `docs/performance.md` explains it. With `--features caches` beside `http-cache-tower`, too.
//!
//! | argument | does |
//! |---|---|
//! | none | measures everything, and prints one table |
//! | `--check` | counts instructions, and fails where a row is over its limit |
//! | `--profile ROW` | leaves callgrind's file of one row for `callgrind_annotate` |

mod rows;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use forbear_benches::{allocations, callgrind, time};
use rows::Row;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let rows = rows::all();
    let done = match arguments.first().map(String::as_str) {
        None => measure(&rows),
        Some("--check") => check(&rows),
        Some("--profile") => files(&arguments[1..]).map(|files| println!("{files:#?}")),
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

fn files<S: AsRef<OsStr>>(names: &[S]) -> Result<Vec<PathBuf>, String> {
    callgrind::run(env!("CARGO_TARGET_TMPDIR"), names, names.len())
}

/// The instructions of each row over the floor, which is the first; of the floor, its own.
fn count(rows: &[&Row]) -> Result<Vec<u64>, String> {
    let names: Vec<_> = rows.iter().map(|row| row.name).collect();
    let files = files(&names)?;
    if files.len() != rows.len() {
        return Err(format!("callgrind wrote {} files for {} rows", files.len(), rows.len()));
    }
    let mut counts = files.iter().map(|file| callgrind::per_call(file)).collect::<Result<Vec<_>, _>>()?;
    if let [floor, over @ ..] = counts.as_mut_slice() {
        over.iter_mut().for_each(|count| *count = count.saturating_sub(*floor));
    }
    Ok(counts)
}

fn check(rows: &[Row]) -> Result<(), String> {
    let limited: Vec<_> = rows.iter().filter(|row| row.name == rows::FLOOR || row.limit.is_some()).collect();
    println!("{:<42} {:>10} {:>10}   instructions over the floor", "", "counted", "limit");
    let mut held = true;
    for (row, counted) in limited.iter().zip(count(&limited)?) {
        let Some(limit) = row.limit else { continue };
        let verdict = if counted > limit { "TOO MANY" } else { "" };
        held &= counted <= limit;
        println!("{:<42} {counted:>10} {limit:>10}   {verdict}", row.name);
    }
    match held {
        true => Ok(()),
        false => {
            Err("a stored answer costs more instructions than it may; make it cheaper, or raise the limit \
                      and say why"
                .to_owned())
        }
    }
}

fn measure(rows: &[Row]) -> Result<(), String> {
    let counts = count(&rows.iter().collect::<Vec<_>>())?;
    println!("\n| | instructions, over the floor | ns | allocations |\n|---|---|---|---|");
    for (row, instructions) in rows.iter().zip(counts) {
        let mut call = (row.make)();
        let (nanoseconds, allocations) = (time::least(&mut call), allocations::of(&mut call, 0));
        println!("| {} | {instructions} | {nanoseconds:.0} | {allocations} |", row.name);
    }
    Ok(())
}
