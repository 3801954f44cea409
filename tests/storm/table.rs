//! The bench prints the same bytes every time, whatever the hash seeds, the address space and the number of threads; and
//! fails where it must.

use std::process::{Command, Output};
use std::time::Duration;

use forbear_storm::catalogue::{Storm, all};
use forbear_storm::contender::Contender;
use forbear_storm::figures::Outcome;
use forbear_storm::table::{markdown, measure, missed, put_into};

/// Some storms, one seed, in new processes.
fn bench(only: &str, threads: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_storm"));
    command.args(["--only", only, "--seeds", "1", "--threads", threads]).output().unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn storms(names: &[&str]) -> Vec<Storm> {
    all().into_iter().filter(|storm| names.contains(&storm.name)).collect()
}

#[test]
fn two_runs_print_the_same_bytes() {
    let first = text(bench("E,D,K", "1").stdout);
    assert_eq!(first, text(bench("E,D,K", "3").stdout));
    for row in ["| E | a sweep", "| D | always", "| K | 20 in"] {
        assert!(first.contains(row), "{first}");
    }
}

#[test]
fn the_targets_of_d_are_reached_and_the_oracle_is_never_refused() {
    let output = bench("D", "2");
    assert_eq!(text(output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn an_unknown_storm_is_named() {
    let output = bench("A,no such", "1");
    assert!(!output.status.success());
    assert_eq!(text(output.stderr), "no storm is called `no such`\n");
}

#[test]
fn what_is_missed_is_told_and_what_is_reached_is_not() {
    let run = |_: &str, contender, seed: u64| {
        let refused = usize::from(contender == Contender::Forbear) * 14;
        // Of three seeds the middle one counts.
        Ok(Outcome {
            oracle: 1000,
            calls: 1200,
            served: if contender == Contender::Oracle { 1000 } else { [1, 975, 999][seed as usize - 1] },
            limited: refused,
            peak: 100,
            longest: Duration::from_secs(29),
            last: Duration::from_secs(300),
            restless: 0,
            healthy: 100,
            touched: 0,
        })
    };
    let rows = measure(storms(&["A", "B"]), 3, 2, run).unwrap();
    assert_eq!(missed(&rows), ["A: 14 429s, more than 13.2"]);
    let table = markdown(&rows);
    let a = table.lines().nth(2).unwrap();
    assert!(a.starts_with("| A | "), "{table}");
    assert!(a.ends_with("| **98 / 14 / 100** | ≥ 96.0 / ≤ 13 / ≤ 166 | 1000 of 1200 / 0 / 100 |"), "{a}");
}

#[test]
fn an_oracle_that_is_wrong_about_its_vendor_fails_the_bench() {
    let run = |_: &str, contender, _| {
        let limited = usize::from(contender == Contender::Oracle);
        Ok(Outcome { limited, ..nothing() })
    };
    let rows = measure(storms(&["W"]), 1, 1, run).unwrap();
    let missed = missed(&rows);
    assert!(missed[0].starts_with("W: the oracle does not know the vendor"), "{missed:?}");
    assert_eq!(missed.len(), 1);
}

#[test]
fn a_run_that_fails_fails_the_bench() {
    let failed = measure(
        storms(&["W"]),
        2,
        1,
        |_, _, seed| if seed == 2 { Err("no".to_owned()) } else { Ok(nothing()) },
    );
    assert_eq!(failed.err().as_deref(), Some("no"));
}

fn nothing() -> Outcome {
    Outcome {
        oracle: 0,
        calls: 0,
        served: 0,
        limited: 0,
        peak: 0,
        longest: Duration::ZERO,
        last: Duration::ZERO,
        restless: 0,
        healthy: 0,
        touched: 0,
    }
}

#[test]
fn the_table_is_put_between_its_markers() {
    let document = "before\n<!-- storm: begin -->\nold\n<!-- storm: end -->\nafter\n";
    let new = "before\n<!-- storm: begin -->\nnew\n<!-- storm: end -->\nafter\n";
    assert_eq!(put_into(document, "new\n").unwrap(), new);
    assert_eq!(put_into(new, "new\n").unwrap(), new);
    assert!(put_into("no markers", "new\n").is_err());
}
