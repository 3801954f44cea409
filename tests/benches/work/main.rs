//! What refresh work costs: `cargo bench -p forbear-benches --bench work`; `docs/performance.md` has a run.
//!
//! | argument | does |
//! |---|---|
//! | none | a million keys in the memory store, and the drain of a backlog in virtual time |
//! | `--keys N` | so many keys |

mod drain;
mod store;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let keys = match &arguments[..] {
        [] => Some(1_000_000),
        [keys, n] if keys == "--keys" => n.parse().ok(),
        _ => None,
    };
    let Some(keys) = keys else {
        eprintln!("use `--keys N`, or nothing");
        return ExitCode::FAILURE;
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        store::measure(keys).await;
        drain::measure().await;
    });
    ExitCode::SUCCESS
}
