//! What it costs to read what a vendor says. `docs/performance.md` explains it; `forbear_benches::counted` its arguments.

mod rows;

use std::process::ExitCode;

use forbear_benches::counted;

fn main() -> ExitCode {
    counted::run(&rows::all(), env!("CARGO_TARGET_TMPDIR"), "a reading")
}
