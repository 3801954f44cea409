//! Which steps a task consists of.

use std::process::Stdio;

use crate::step::{self, Step};

/// The cargo-deny that CI runs with; another one that is already installed is used as it is.
const CARGO_DENY: &str = "0.20.2";

/// Every test of the workspace. `cargo test` builds the examples too; the tests inside them need a run of their own.
pub(crate) fn test() -> Vec<Step> {
    vec![
        Step::cargo("tests", ["test", "--workspace", "--all-features", "--no-fail-fast"])
            .hint("the failures are listed under `failures:` above"),
        Step::cargo(
            "example tests",
            ["test", "--workspace", "--all-features", "--no-fail-fast", "--examples"],
        )
        .hint("the failures are listed under `failures:` above"),
    ]
}

/// What threads share, in every order of their steps. The flag is ours: `--cfg loom` would change tokio.
pub(crate) fn loom() -> Vec<Step> {
    vec![
        Step::cargo("loom", ["test", "--package", "forbear-core", "--lib", "models"])
            .env("RUSTFLAGS", "--cfg forbear_loom")
            .hint("docs/testing.md says how to see the order in which a model failed"),
    ]
}

/// What the layers cost, beside others.
pub(crate) fn bench() -> Vec<Step> {
    vec![
        Step::cargo("bench", ["bench", "--package", "forbear-benches", "--bench", "layers"])
            .hint("needs valgrind, on Debian `apt-get install valgrind`"),
    ]
}

/// What the layers save in a storm, beside others. Its table goes into the guide where it is to be written.
pub(crate) fn storm(write: bool) -> Vec<Step> {
    let run = ["run", "--quiet", "--release", "--package", "forbear-storm", "--"];
    let to = ["--write", "docs/performance.md"];
    let arguments = run.into_iter().chain(to.into_iter().filter(|_| write));
    vec![
        Step::cargo("storm", arguments)
            .hint("tests/storm/src/catalogue/rows.rs holds the storms and the targets"),
    ]
}

/// The tests, unless they have just been run, and every other check. Installs cargo-deny where it is missing.
pub(crate) fn ci(after_test: bool, has_cargo_deny: bool) -> Vec<Step> {
    let mut steps = if after_test { Vec::new() } else { test() };
    steps.extend(loom());
    steps.push(Step::cargo("fmt", ["fmt", "--all", "--check"]).hint("run `cargo fmt --all`"));
    steps.push(
        Step::cargo(
            "clippy",
            ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"],
        )
        .hint("mend the code, or `#[expect(…, reason = \"…\")]` what is meant as it is"),
    );
    steps.push(
        Step::cargo("doc", ["doc", "--workspace", "--all-features", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .hint("mostly a link to a name that is not public or was renamed"),
    );
    if !has_cargo_deny {
        steps.push(
            Step::cargo("install cargo-deny", ["install", "cargo-deny", "--locked", "--version", CARGO_DENY])
                .hint("needs the crate registry and a C compiler"),
        );
    }
    steps.push(
        Step::cargo("deny", ["deny", "--all-features", "check", "bans", "licenses", "sources"])
            .hint("deny.toml says what is allowed, and why"),
    );
    steps.push(
        Step::cargo(
            "instruction limits",
            [
                "bench",
                "--quiet",
                "--package",
                "forbear-benches",
                "--bench",
                "layers",
                "--bench",
                "dialects",
                "--",
                "--check",
            ],
        )
        .hint(
            "tests/benches/layers/limits.rs and tests/benches/dialects/rows.rs hold the limits; needs valgrind, on Debian \
             `apt-get install valgrind`",
        ),
    );
    steps
}

/// Whether `cargo deny` can be called.
pub(crate) fn has_cargo_deny() -> bool {
    step::cargo()
        .args(["deny", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[Step]) -> Vec<&'static str> {
        steps.iter().map(|step| step.name).collect()
    }

    #[test]
    fn ci_runs_the_tests_once() {
        let all = ["tests", "example tests", "loom", "fmt", "clippy", "doc", "deny", "instruction limits"];
        assert_eq!(names(&ci(false, true)), all);
        assert_eq!(names(&ci(true, true)), all[2..]);
    }

    #[test]
    fn cargo_deny_is_installed_only_where_it_is_missing() {
        assert_eq!(
            names(&ci(true, false)),
            ["loom", "fmt", "clippy", "doc", "install cargo-deny", "deny", "instruction limits"]
        );
    }
}
