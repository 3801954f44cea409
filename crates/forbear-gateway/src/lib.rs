//! The `forbear` binary, as a library: so its tests can call what it prints without a process.
//!
//! It is no API: it changes with the binary.

mod clock;
mod explain;
mod failure;
mod input;
mod shown;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use explain::{Explanation, explanation};
use failure::Failure;

#[derive(Parser)]
#[command(name = "forbear", version, about = "What vendors say about their limits, read and kept to")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Explain(explain::Args),
}

/// What the binary does, with its arguments; which exit status it ends with.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Explain(args) => explain::run(&args),
    };
    done.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}
