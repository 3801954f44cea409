//! The lines at the end, and the exit code.

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use crate::step::Outcome;

/// How the steps of a task ended, in their order.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Outcome>);

impl Report {
    /// Takes down how one more step ended.
    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.0.push(outcome);
    }

    /// Whether every step passed.
    fn passed(&self) -> bool {
        self.0.iter().all(|outcome| outcome.failure.is_none())
    }

    /// 0 when every step passed, else 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n== {}", if self.passed() { "all steps passed" } else { "FAILED" })?;
        for outcome in &self.0 {
            let verdict = if outcome.failure.is_none() { "ok" } else { "FAILED" };
            writeln!(f, "{verdict:<7} {:<18} {:>7.1} s", outcome.name, outcome.took.as_secs_f64())?;
        }
        for outcome in &self.0 {
            if let Some(failure) = &outcome.failure {
                writeln!(f, "{}: {failure}", outcome.name)?;
            }
        }
        let total: Duration = self.0.iter().map(|outcome| outcome.took).sum();
        write!(f, "{:<26} {:>7.1} s", "total", total.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &'static str, millis: u64, failure: Option<&str>) -> Outcome {
        Outcome { name, took: Duration::from_millis(millis), failure: failure.map(str::to_owned) }
    }

    #[test]
    fn every_step_is_listed_with_its_time() {
        let report = Report(vec![outcome("tests", 61_250, None), outcome("fmt", 750, None)]);
        assert_eq!(
            report.to_string(),
            "\n== all steps passed\n\
             ok      tests                 61.2 s\n\
             ok      fmt                    0.8 s\n\
             total                         62.0 s"
        );
        assert_eq!(report.exit_code(), ExitCode::SUCCESS);
    }

    #[test]
    fn one_failure_fails_the_task_and_is_told_again() {
        let report = Report(vec![outcome("fmt", 0, Some("run `cargo fmt --all`")), outcome("doc", 0, None)]);
        let lines = report.to_string();
        assert!(lines.starts_with("\n== FAILED\nFAILED  fmt "), "{lines}");
        assert!(lines.contains("\nfmt: run `cargo fmt --all`\n"), "{lines}");
        assert_eq!(report.exit_code(), ExitCode::FAILURE);
    }
}
