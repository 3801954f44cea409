//! What the layers cost, beside tower's and tower-resilience's. `cargo xtask bench`; `docs/performance.md` explains it.
//!
//! | argument | does |
//! |---|---|
//! | none | measures everything, and prints one table |
//! | `--check` | counts instructions, and fails where a row is over its limit |
//! | `--threads ROW ROW` | times these rows alone and by two threads at once, for when the machine is idle |
//! | `--profile ROW ready` | leaves callgrind's file of one row for `callgrind_annotate`; or `pending` |

mod allocations;
mod bare;
mod client;
mod instructions;
mod limits;
mod rows;
mod table;
mod time;

use std::process::ExitCode;

use forbear_benches::callgrind;
use rows::Row;
use table::Measured;
use time::Timer;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let rows = rows::all();
    let done = match arguments.first().map(String::as_str) {
        None => measure(&rows),
        Some("--check") => check(&rows),
        Some("--threads") => {
            let mut timer = Timer::new();
            let named = rows.iter().filter(|row| arguments[1..].iter().any(|name| name == row.name));
            let timed: Vec<_> = named.map(|row| (row, timer.alone(row, false), timer.by_two(row))).collect();
            println!();
            for (row, alone, two) in timed {
                println!("{:<40} {alone:>6.0} {two:>6.0} {:>6.2}×", row.name, two / alone);
            }
            Ok(())
        }
        Some("--profile") => instructions::files(&arguments[1..]).map(|files| println!("{files:#?}")),
        Some(callgrind::INSIDE) => {
            instructions::inside(&rows, &arguments[1..]);
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

fn check(rows: &[Row]) -> Result<(), String> {
    let limited = limits::limited(rows);
    let counts = instructions::count(&limited)?;
    match limits::hold(&limited, &counts) {
        true => Ok(()),
        false => {
            Err("a call costs more instructions than it may; make it cheaper, or raise the limit and say why"
                .to_owned())
        }
    }
}

fn measure(rows: &[Row]) -> Result<(), String> {
    let counts = instructions::count(&rows.iter().collect::<Vec<_>>())?;
    let mut timer = Timer::new();
    let shared = [
        rows::FLOOR,
        rows::GATE,
        rows::THREE,
        rows::COUNTER,
        rows::LOCKED,
        rows::UNPACED,
        rows::WINDOW,
        rows::IN_FLIGHT,
        rows::FOUR,
        rows::PACED,
        rows::TOWER_LIMIT,
        rows::TOWER,
        rows::RESILIENCE,
    ];
    let mut one = |row: &Row, instructions| Measured {
        instructions,
        nanoseconds: (timer.alone(row, false), timer.alone(row, true)),
        two_threads: shared.contains(&row.name).then(|| timer.by_two(row)),
        allocations: forbear_benches::allocations::of(&mut (row.make)(true), row.round),
    };
    let measured: Vec<_> = rows.iter().zip(counts).map(|(row, count)| one(row, count)).collect();
    let (look, bytes) = timer.recorded();
    println!();
    table::print(rows, &measured);
    let (layers, client) = rows::sizes();
    println!(
        "\nThe future of the three layers is {layers} bytes, {} beside the client's {client}.",
        layers - client
    );
    println!(
        "Of {} recorded URLs each costs {bytes:.1} bytes; a look for one takes {look:.0} ns.",
        allocations::RECORDED
    );
    Ok(())
}
