//! The bench prints the same bytes every time, whatever the hash seeds, the address space and the number of threads.

use std::process::{Command, Output};

use forbear_storm::table::put_into;

/// Some storms, one seed, in new processes.
fn bench(only: &str, threads: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_storm"));
    command.args(["--only", only, "--seeds", "1", "--threads", threads]).output().unwrap()
}

#[test]
fn two_runs_print_the_same_bytes() {
    let first = bench("E,D,F2,K", "1");
    let again = bench("E,D,F2,K", "3");
    let text = String::from_utf8(first.stdout).unwrap();
    assert_eq!(text, String::from_utf8(again.stdout).unwrap());
    assert_eq!(
        String::from_utf8(first.stderr).unwrap(),
        "",
        "every target is reached, and the oracle never refused"
    );
    assert!(first.status.success());
    for row in ["| E | a sweep", "| D | always", "| F2 | 10 in any", "| K | 20 in"] {
        assert!(text.contains(row), "{text}");
    }
}

#[test]
fn a_missed_target_fails_the_bench() {
    let output = bench("no such storm", "1");
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("no storm is called"));
}

#[test]
fn the_table_is_put_between_its_markers() {
    let document = "before\n<!-- storm: begin -->\nold\n<!-- storm: end -->\nafter\n";
    let new = "before\n<!-- storm: begin -->\nnew\n<!-- storm: end -->\nafter\n";
    assert_eq!(put_into(document, "new\n").unwrap(), new);
    assert_eq!(put_into(new, "new\n").unwrap(), new);
    assert!(put_into("no markers", "new\n").is_err());
}
