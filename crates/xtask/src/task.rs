//! What was asked for on the command line.

use std::fmt;

/// What `cargo xtask help` prints.
pub(crate) const HELP: &str = "\
cargo xtask TASK

  test               every test of the workspace, doc tests and tests inside examples; builds the examples
  loom               the models of what threads share, in every order of their steps
  bench              what the layers cost, beside others, in one table; needs valgrind
  bench storm [--write]
                     what they save in a storm, beside others, in one table; fails where a target is missed; with
                     --write the table is put into docs/performance.md
  api [--write]      the public API of each library is as tests/api lists it; with --write the lists are written
  ci [--after-test]  test, then loom, fmt, clippy, rustdoc, api, features, packages, cargo-deny and the instruction limits;
                     with --after-test without the tests, for a caller that has just run them; needs valgrind
  help               this text

Every step runs, also after one that failed. Ends with 0 when all passed, 1 when one failed, 2 when TASK is unknown.";

/// A subcommand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Print [`HELP`].
    Help,
    /// Run the tests.
    Test,
    /// Check the models.
    Loom,
    /// Measure.
    Bench,
    /// Play the storms.
    Storm {
        /// Whether the table goes into the document.
        write: bool,
    },
    /// Hold the public API against its lists.
    Api {
        /// Whether the lists are written.
        write: bool,
    },
    /// Run everything that CI runs.
    Ci {
        /// Whether the tests are left out.
        after_test: bool,
    },
}

impl Task {
    /// Reads the arguments that follow the program's name.
    ///
    /// # Errors
    /// [`InvalidTask`] for a missing or unknown subcommand, and for an argument that it does not take.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, InvalidTask> {
        let mut arguments = arguments.into_iter();
        let Some(name) = arguments.next() else { return Err(InvalidTask::Missing) };
        let mut task = match name.as_str() {
            "help" | "-h" | "--help" => Self::Help,
            "test" => Self::Test,
            "loom" => Self::Loom,
            "bench" => Self::Bench,
            "api" => Self::Api { write: false },
            "ci" => Self::Ci { after_test: false },
            _ => return Err(InvalidTask::Unknown(name)),
        };
        for argument in arguments {
            match (&mut task, argument.as_str()) {
                (Self::Ci { after_test }, "--after-test") => *after_test = true,
                (Self::Bench, "storm") => task = Self::Storm { write: false },
                (Self::Storm { write } | Self::Api { write }, "--write") => *write = true,
                _ => return Err(InvalidTask::Argument { task: name, argument }),
            }
        }
        Ok(task)
    }
}

/// A command line that names no task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InvalidTask {
    /// Nothing was asked for.
    Missing,
    /// There is no such subcommand.
    Unknown(String),
    /// The subcommand does not take this argument.
    Argument {
        /// The subcommand.
        task: String,
        /// What it does not take.
        argument: String,
    },
}

impl fmt::Display for InvalidTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no task given"),
            Self::Unknown(name) => write!(f, "unknown task `{name}`"),
            Self::Argument { task, argument } => write!(f, "`{task}` does not take `{argument}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task, InvalidTask> {
        Task::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn known_tasks_are_read() {
        assert_eq!(parse("test"), Ok(Task::Test));
        assert_eq!(parse("loom"), Ok(Task::Loom));
        assert_eq!(parse("bench"), Ok(Task::Bench));
        assert_eq!(parse("bench storm"), Ok(Task::Storm { write: false }));
        assert_eq!(parse("bench storm --write"), Ok(Task::Storm { write: true }));
        assert_eq!(parse("api"), Ok(Task::Api { write: false }));
        assert_eq!(parse("api --write"), Ok(Task::Api { write: true }));
        assert_eq!(parse("ci"), Ok(Task::Ci { after_test: false }));
        assert_eq!(parse("ci --after-test"), Ok(Task::Ci { after_test: true }));
        assert_eq!(parse("help"), Ok(Task::Help));
    }

    #[test]
    fn what_is_not_a_task_is_named() {
        assert_eq!(parse("").unwrap_err().to_string(), "no task given");
        assert_eq!(parse("tset").unwrap_err().to_string(), "unknown task `tset`");
        assert_eq!(
            parse("test --after-test").unwrap_err().to_string(),
            "`test` does not take `--after-test`"
        );
        assert_eq!(parse("bench --write").unwrap_err().to_string(), "`bench` does not take `--write`");
        assert_eq!(parse("ci now").unwrap_err().to_string(), "`ci` does not take `now`");
    }
}
