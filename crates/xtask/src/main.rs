//! `cargo xtask …`: tests and CI steps of this workspace, with nothing but Rust needed to run them.
//!
//! | file | holds |
//! |---|---|
//! | `task` | what was asked for on the command line |
//! | `plan` | which steps a task consists of |
//! | `step` | one command, or a few: run, timed, explained when it fails |
//! | `api` | the public API of each library, and its list |
//! | `packages` | what would be uploaded |
//! | `features` | every feature alone, and every two of them |
//! | `report` | the lines at the end, and the exit code |

mod api;
mod features;
mod packages;
mod plan;
#[cfg(test)]
mod published;
mod report;
mod step;
mod task;

use std::env;
use std::process::ExitCode;

use report::Report;
use task::Task;

/// Ends with 0 when every step passed, 1 when one failed, 2 when the command line was not understood.
fn main() -> ExitCode {
    let task = match Task::parse(env::args().skip(1)) {
        Ok(task) => task,
        Err(invalid) => {
            eprintln!("xtask: {invalid}\n\n{}", task::HELP);
            return ExitCode::from(2);
        }
    };
    let steps = match task {
        Task::Help => {
            println!("{}", task::HELP);
            return ExitCode::SUCCESS;
        }
        Task::Test => plan::test(),
        Task::Loom => plan::loom(),
        Task::Bench => plan::bench(),
        Task::Storm { write } => plan::storm(write),
        Task::Api { write } => plan::api(write),
        Task::Ci { after_test } => plan::ci(after_test, plan::has),
    };

    let mut report = Report::default();
    for step in &steps {
        report.add(step.run());
    }
    println!("{report}");
    report.exit_code()
}
