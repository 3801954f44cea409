//! The guard fails on a client of one's own, and lets a program pass that goes through the stack.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the workspace, read when run: a binary may be shared by several checkouts.
fn root() -> PathBuf {
    Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("..")
}

fn cargo(arguments: &[&str]) -> Output {
    let cargo = std::env::var_os("CARGO").unwrap();
    let mut command = Command::new(cargo);
    // Another file than the guard's, should somebody have one.
    command.args(arguments).current_dir(root()).env_remove("CLIPPY_CONF_DIR");
    command.env("CARGO_TERM_COLOR", "never").output().unwrap()
}

/// What a team's CI runs, on one crate: whether it passes, and what it says.
fn guard(package: &str) -> (bool, String) {
    let there = cargo(&["clippy", "--version"]).status.success();
    assert!(there, "this test needs clippy: `rustup component add clippy`");
    let checked = cargo(&[
        "clippy",
        "--offline",
        "--locked",
        "--no-deps",
        "--package",
        package,
        "--",
        "--deny=warnings",
        "--deny=clippy::disallowed_methods",
        "--deny=clippy::disallowed_types",
    ]);
    (checked.status.success(), String::from_utf8(checked.stderr).unwrap())
}

/// The paths of the guard's file that this workspace has, each with what is said to who uses it.
fn listed() -> Vec<(String, String)> {
    let file = std::fs::read_to_string(root().join("examples/guard/clippy.toml")).unwrap();
    let lines = file.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("{ path = \"")?;
        let (path, rest) = line.split_once("\", reason = \"").unwrap();
        let (reason, rest) = rest.split_once('"').unwrap();
        assert_eq!(rest, ", allow-invalid = true },", "{path}");
        Some((path.to_owned(), reason.to_owned()))
    });
    lines.filter(|(path, _)| path.starts_with("hyper") && !path.contains("http2")).collect()
}

#[test]
fn a_bare_client_fails_and_the_stack_passes() {
    let (passes, said) = guard("forbear-guard-bare");
    assert!(!passes, "{said}");
    let listed = listed();
    assert_eq!(listed.len(), 6, "{listed:?}");
    for (path, reason) in listed {
        assert!(said.contains(&format!("error: use of a disallowed method `{path}`")), "{path}: {said}");
        assert!(said.contains(&reason), "{path}: {said}");
    }
    // It makes a client too: where the guard did not see that, the expectation would be unfulfilled, and this fail.
    let (passes, said) = guard("forbear-guard-stack");
    assert!(passes, "{said}");
}
