//! Which steps a task consists of.

use std::process::Stdio;

use crate::step::{self, Step};

/// What CI runs with, beside cargo; another one that is already installed is used as it is.
pub(crate) struct Tool {
    command: &'static str,
    install: &'static str,
    version: &'static str,
}

/// What is published, as cargo is told of it.
pub(crate) const PUBLISHED: [&str; 10] = [
    "--package",
    "forbear-core",
    "--package",
    "forbear",
    "--package",
    "forbear-mock",
    "--package",
    "forbear-sqlite",
    "--package",
    "forbear-gateway",
];

/// Lets a stable rustdoc do what docs.rs does. Build scripts look at that variable, so what is built with it has a place of its
/// own: else everything would be built anew after each such step.
pub(crate) const UNSTABLE: [(&str, &str); 2] =
    [("RUSTC_BOOTSTRAP", "1"), ("CARGO_TARGET_DIR", "target/unstable")];

const DENY: Tool = Tool { command: "deny", install: "install cargo-deny", version: "cargo-deny@0.20.2" };
const HACK: Tool = Tool { command: "hack", install: "install cargo-hack", version: "cargo-hack@0.6.46" };

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
        Step::cargo(
            "bench of stored answers",
            ["bench", "--package", "forbear-benches", "--features", "caches", "--bench", "answers"],
        )
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

/// The public API of each library, and its list.
pub(crate) fn api(write: bool) -> Vec<Step> {
    vec![Step::own("api", if write { crate::api::write } else { crate::api::check })]
}

/// The tests, unless they have just been run, and every other check. Installs the tools that are missing.
pub(crate) fn ci(after_test: bool, has: fn(&Tool) -> bool) -> Vec<Step> {
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
            .env("RUSTDOCFLAGS", "--cfg docsrs -D warnings")
            .env(UNSTABLE[0].0, UNSTABLE[0].1)
            .env(UNSTABLE[1].0, UNSTABLE[1].1)
            .hint("mostly a link to a name that is not public or was renamed"),
    );
    steps.extend(api(false));
    steps.extend(HACK.unless(has));
    steps.push(Step::own("features", crate::features::check));
    steps.push(Step::own("packages", crate::packages::check));
    steps.extend(DENY.unless(has));
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
                "--bench",
                "answers",
                "--",
                "--check",
            ],
        )
        .hint(
            "limits.rs and rows.rs in tests/benches/layers, dialects and answers hold the limits; needs valgrind, on Debian \
             `apt-get install valgrind`",
        ),
    );
    steps
}

impl Tool {
    fn unless(self, has: fn(&Self) -> bool) -> Option<Step> {
        let install = Step::cargo(self.install, ["install", "--locked", self.version]);
        (!has(&self)).then(|| install.hint("needs the crate registry and a C compiler"))
    }
}

/// Whether cargo can call it.
pub(crate) fn has(tool: &Tool) -> bool {
    step::cargo()
        .args([tool.command, "--version"])
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

    const STEPS: [&str; 11] = [
        "tests",
        "example tests",
        "loom",
        "fmt",
        "clippy",
        "doc",
        "api",
        "features",
        "packages",
        "deny",
        "instruction limits",
    ];

    #[test]
    fn ci_runs_the_tests_once() {
        assert_eq!(names(&ci(false, |_| true)), STEPS);
        assert_eq!(names(&ci(true, |_| true)), STEPS[2..]);
    }

    #[test]
    fn a_tool_is_installed_only_where_it_is_missing() {
        let mut steps = STEPS[2..].to_vec();
        steps.insert(7, "install cargo-deny");
        assert_eq!(names(&ci(true, |tool| tool.command != "deny")), steps);
        steps.insert(5, "install cargo-hack");
        assert_eq!(names(&ci(true, |_| false)), steps);
    }
}
