//! The `forbear` binary.

mod clock;
mod explain;
mod failure;
mod input;
mod shown;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Explain(args) => explain::run(&args),
    };
    done.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}
