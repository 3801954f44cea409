//! What a stack adds to a call of reqwest on loopback, beside reqwest-middleware and reqwest-retry. All rows in one run:
//! `cargo bench -p forbear-benches --features clients --bench clients`; `docs/performance.md` explains it.
//!
//! The server is another process, so nothing of it is counted.

mod rows;
mod server;

use std::process::ExitCode;

use forbear_benches::{allocations, callgrind};

/// The argument of the process that answers.
const SERVE: &str = "--serve";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let done = match arguments.first().map(String::as_str) {
        None => measure(),
        Some(SERVE) => server::serve(),
        Some(callgrind::INSIDE) => with_rows(|rows| {
            for row in rows {
                callgrind::inside(&mut row.call, rows::WARM);
            }
            Ok(())
        }),
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

fn with_rows(use_them: impl FnOnce(&mut [rows::Row]) -> Result<(), String>) -> Result<(), String> {
    let server = server::Server::start(SERVE).map_err(|error| format!("no server: {error}"))?;
    use_them(&mut rows::all(server.address()))
}

fn measure() -> Result<(), String> {
    with_rows(|rows| {
        let none: [&str; 0] = [];
        let files = callgrind::run(env!("CARGO_TARGET_TMPDIR"), &none, rows.len())?;
        let counts = files.iter().map(|file| callgrind::per_call(file)).collect::<Result<Vec<_>, _>>()?;
        if counts.len() != rows.len() {
            return Err(format!("callgrind wrote {} files for {} rows", counts.len(), rows.len()));
        }
        let allocated: Vec<_> =
            rows.iter_mut().map(|row| allocations::of(&mut row.call, rows::WARM)).collect();
        println!("\n| | instructions | added | allocations | added |\n|---|---|---|---|---|");
        for ((row, count), allocated_by) in rows.iter().zip(&counts).zip(&allocated) {
            let added = i64::try_from(*count).unwrap() - i64::try_from(counts[0]).unwrap();
            let more = i64::try_from(*allocated_by).unwrap() - i64::try_from(allocated[0]).unwrap();
            println!("| {} | {count} | {added:+} | {allocated_by} | {more:+} |", row.name);
        }
        Ok(())
    })
}
