//! What it costs to be served from memory, beside the store alone and another cache: `cargo bench -p forbear-benches --bench answers`;
//! `docs/performance.md` explains it, `forbear_benches::counted` its arguments. With `--features caches` beside `http-cache-tower`, too.

mod rows;

use std::process::ExitCode;

use forbear_benches::counted;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    counted::run(&rows::all(), env!("CARGO_TARGET_TMPDIR"), "a stored answer")
}
