//! The storm bench. `cargo xtask bench storm`; `docs/performance.md` explains its table.
//!
//! | argument | does |
//! |---|---|
//! | none | every storm, every contender, five seeds: prints one table, and fails where forbear's layers miss a target |
//! | `--only A,E` | these storms alone |
//! | `--seeds 1` | so many seeds |
//! | `--threads 1` | so many runs at a time |
//! | `--write FILE` | puts the table between the markers of a document too |
//! | `--run A Forbear 1` | one run; prints what came of it |
//!
//! Each run is made by a process of its own: see [`forbear_storm::play`].

use std::process::{Command, ExitCode};
use std::str::FromStr;

use forbear_storm::catalogue::{self, Storm};
use forbear_storm::contender::Contender;
use forbear_storm::figures::Outcome;
use forbear_storm::{play, table};

const SEEDS: u64 = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [run, name, contender, seed] if run == "--run" => one(name, contender, seed),
        arguments => all(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn one(name: &str, contender: &str, seed: &str) -> Result<(), String> {
    let contender = contender.parse::<Contender>()?;
    let storm = named(name)?;
    let outcome = play::play(&storm, contender, parse(seed)?).outcome();
    println!("{}", serde_json::to_string(&outcome).map_err(|error| error.to_string())?);
    Ok(())
}

fn all(arguments: &[String]) -> Result<(), String> {
    let mut storms = catalogue::all();
    let (mut seeds, mut write) = (SEEDS, None);
    let mut threads = std::thread::available_parallelism().map_or(1, usize::from);
    for pair in arguments.chunks(2) {
        match pair {
            [key, value] if key == "--only" => {
                storms = value.split(',').map(named).collect::<Result<_, _>>()?;
            }
            [key, value] if key == "--seeds" => seeds = parse(value)?,
            [key, value] if key == "--threads" => threads = parse(value)?,
            [key, value] if key == "--write" => write = Some(value),
            _ => return Err(format!("unknown arguments {pair:?}")),
        }
    }
    let rows = table::measure(storms, seeds, threads, in_a_process)?;
    let markdown = table::markdown(&rows);
    print!("{markdown}");
    if let Some(path) = write {
        let document = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let document = table::put_into(&document, &markdown)?;
        std::fs::write(path, document).map_err(|error| format!("{path}: {error}"))?;
    }
    let missed = table::missed(&rows);
    if missed.is_empty() { Ok(()) } else { Err(format!("\ntargets missed:\n{}", missed.join("\n"))) }
}

fn named(name: &str) -> Result<Storm, String> {
    let found = catalogue::all().into_iter().find(|storm| storm.name == name);
    found.ok_or_else(|| format!("no storm is called `{name}`"))
}

fn parse<T: FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{value}` is no number"))
}

/// Has this program make one run.
fn in_a_process(name: &str, contender: Contender, seed: u64) -> Result<Outcome, String> {
    let failed = |what: String| format!("{name}, {contender}, seed {seed}: {what}");
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let arguments = ["--run".to_owned(), name.to_owned(), contender.to_string(), seed.to_string()];
    let output = Command::new(program).args(arguments).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}
