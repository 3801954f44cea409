//! The public API of each library, listed in `tests/api` and held against what its source says.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::plan::UNSTABLE;
use crate::step::{self, root};

/// The libraries whose API is a promise.
const LIBRARIES: [&str; 4] = ["forbear-core", "forbear", "forbear-mock", "forbear-sqlite"];

/// The Rust whose rustdoc JSON the lister reads; tests/api/Cargo.toml pins that. Both move together.
const RUST: &str = "1.95.0";

/// Fails where a list is not what the source says.
pub(crate) fn check() -> Result<(), String> {
    let mut changed = String::new();
    for library in LIBRARIES {
        let now = list(library)?;
        let before = fs::read_to_string(file(library)).unwrap_or_default();
        changed += &difference(library, &before, &now);
    }
    if changed.is_empty() {
        return Ok(());
    }
    println!("{changed}");
    Err("the public API is not as listed, see above; where that is meant, `cargo xtask api --write` accepts it, and \
         CHANGELOG.md tells users: a `-` breaks them"
        .to_owned())
}

/// Writes the lists as the source says.
pub(crate) fn write() -> Result<(), String> {
    for library in LIBRARIES {
        let file = file(library);
        fs::write(&file, list(library)?).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

fn file(library: &str) -> PathBuf {
    root().join("tests/api").join(library).with_extension("txt")
}

/// What is in one of the lists alone.
fn difference(library: &str, before: &str, now: &str) -> String {
    let lines = |text: &'_ str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (before, now) = (lines(before), lines(now));
    let mut told = String::new();
    for gone in before.difference(&now) {
        let _ = writeln!(told, "{library} - {gone}");
    }
    for new in now.difference(&before) {
        let _ = writeln!(told, "{library} + {new}");
    }
    told
}

/// The public items, one a line, sorted.
fn list(library: &str) -> Result<String, String> {
    let rustdoc = ["rustdoc", "--quiet", "--lib", "--all-features", "--package", library, "--"];
    let json = ["-Z", "unstable-options", "--output-format", "json"];
    let mut command = pinned()?;
    output(command.envs(UNSTABLE).args(rustdoc).args(json))?;
    let target = root().join(UNSTABLE[1].1);
    let json = target.join("doc").join(library.replace('-', "_")).with_extension("json");
    let mut lister = step::cargo();
    lister.args(["run", "--quiet", "--locked", "--manifest-path", "tests/api/Cargo.toml", "--target-dir"]);
    output(lister.arg(absolute(&target.join("api"))).arg("--").arg(absolute(&json)))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The cargo of the pinned Rust: the present one, or one that rustup has.
fn pinned() -> Result<Command, String> {
    let is = |command: &mut Command| {
        let version = output(command.arg("--version")).unwrap_or_default();
        version.split(' ').nth(1) == Some(RUST)
    };
    if is(&mut step::cargo()) {
        return Ok(step::cargo());
    }
    let rustup = || {
        let mut command = Command::new("rustup");
        // Cargo told its children which toolchain it is of.
        command.env_remove("RUSTC").env_remove("RUSTDOC").args(["run", RUST, "cargo"]);
        command
    };
    if is(&mut rustup()) {
        return Ok(rustup());
    }
    Err(format!(
        "the lists are made with Rust {RUST}, which is not here: `rustup toolchain install {RUST} --profile minimal`"
    ))
}

/// What a command that succeeds prints; its errors pass to this process's.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let failed = |why: String| format!("`{shown}` {why}");
    let ran = command.current_dir(root()).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let ran = ran.map_err(|error| failed(format!("could not be started: {error}")))?;
    if !ran.status.success() {
        return Err(failed(format!("ended with {}", ran.status)));
    }
    String::from_utf8(ran.stdout).map_err(|error| failed(format!("printed what is no text: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_and_what_is_gone_is_told() {
        assert_eq!(difference("a", "x\ny\n", "y\nx\n"), "");
        assert_eq!(difference("a", "x\ny\n", "y\nz\n"), "a - x\na + z\n");
    }

    #[test]
    fn every_published_library_has_a_list() {
        let listed = |name: &str| LIBRARIES.contains(&name) && file(name).is_file();
        for member in fs::read_dir(root().join("crates")).unwrap() {
            let member = member.unwrap();
            let name = member.file_name().into_string().unwrap();
            let manifest = fs::read_to_string(member.path().join("Cargo.toml")).unwrap();
            let library = member.path().join("src/lib.rs").is_file() && !manifest.contains("publish = false");
            // Its library is for its own tests, and says so.
            let promises = library && name != "forbear-gateway";
            assert!(
                !promises || listed(&name),
                "{name}: add it to LIBRARIES, then `cargo xtask api --write`"
            );
        }
    }
}
