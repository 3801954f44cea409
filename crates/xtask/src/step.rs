//! One command, or a few of them: run, timed, explained when it fails.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// One step of a task.
#[derive(Debug)]
pub(crate) struct Step {
    /// What the headline and the report call it.
    pub(crate) name: &'static str,
    work: Work,
    environment: Vec<(&'static str, &'static str)>,
    hint: &'static str,
}

/// What a step does.
#[derive(Debug)]
enum Work {
    /// Calls cargo.
    Cargo(Vec<&'static str>),
    /// Does what it is called, and tells what is wrong.
    Own(fn() -> Result<(), String>),
}

/// How a step ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The step's name.
    pub(crate) name: &'static str,
    /// How long it ran.
    pub(crate) took: Duration,
    /// What went wrong, in one line, and what to do; `None` where the step passed.
    pub(crate) failure: Option<String>,
}

impl Step {
    /// A step that calls cargo with `arguments` in the root of the workspace.
    pub(crate) fn cargo(name: &'static str, arguments: impl IntoIterator<Item = &'static str>) -> Self {
        let work = Work::Cargo(arguments.into_iter().collect());
        Self { name, work, environment: Vec::new(), hint: "" }
    }

    /// A step that is more than one command.
    pub(crate) fn own(name: &'static str, work: fn() -> Result<(), String>) -> Self {
        Self { name, work: Work::Own(work), environment: Vec::new(), hint: "" }
    }

    /// Sets a variable of the command's environment.
    pub(crate) fn env(mut self, key: &'static str, value: &'static str) -> Self {
        self.environment.push((key, value));
        self
    }

    /// What a reader should do when this step fails.
    pub(crate) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }

    /// The command as a reader can paste it into a shell.
    fn line(&self) -> String {
        let Work::Cargo(arguments) = &self.work else { return "several commands".to_owned() };
        let environment = self.environment.iter().map(|(key, value)| format!("{key}=\"{value}\" "));
        format!("{}cargo {}", environment.collect::<String>(), arguments.join(" "))
    }

    /// Runs it with this process's output and no input, and waits for its end.
    pub(crate) fn run(&self) -> Outcome {
        println!("\n== {}: {}", self.name, self.line());
        let started = now();
        let failure = match &self.work {
            Work::Cargo(arguments) => self.failure(self.command(arguments).status()),
            Work::Own(work) => work().err(),
        };
        let took = now().saturating_duration_since(started);
        if let Some(failure) = &failure {
            println!("== {} FAILED: {failure}", self.name);
        }
        Outcome { name: self.name, took, failure }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = cargo();
        let environment = self.environment.iter().copied();
        command.args(arguments).envs(environment).current_dir(root()).stdin(Stdio::null());
        command
    }

    /// What is wrong with a command that ended so; `None` where it succeeded.
    fn failure(&self, status: io::Result<ExitStatus>) -> Option<String> {
        match status {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("`{}` ended with {status}; {}", self.line(), self.hint)),
            Err(error) => Some(format!("`{}` could not be started: {error}", self.line())),
        }
    }
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// The root of the workspace. `cargo run` tells where this crate's manifest is; without it the current directory
/// must be the root. Read when run, because a binary may be shared by several checkouts.
pub(crate) fn root() -> PathBuf {
    match env::var_os("CARGO_MANIFEST_DIR") {
        Some(manifest) => PathBuf::from(manifest).join("../.."),
        None => PathBuf::from("."),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stopwatch of a developer's tool, which no test clock drives"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(step: &Step) -> io::Result<ExitStatus> {
        let Work::Cargo(arguments) = &step.work else { unreachable!("it calls cargo") };
        step.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status()
    }

    #[test]
    fn a_command_that_succeeds_has_no_failure() {
        let step = Step::cargo("version", ["--version"]);
        assert_eq!(step.failure(silent(&step)), None);
    }

    #[test]
    fn a_command_that_fails_is_quoted_with_its_status_and_hint() {
        let step = Step::cargo("nothing", ["no-such-command"]).env("KEY", "a value").hint("try another");
        let failure = step.failure(silent(&step)).unwrap();
        assert!(failure.starts_with("`KEY=\"a value\" cargo no-such-command` ended with exit "), "{failure}");
        assert!(failure.ends_with("101; try another"), "{failure}");
    }

    #[test]
    fn commands_run_in_the_root_of_the_workspace() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
