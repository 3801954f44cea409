//! The attempt log as a reader of a failed test sees it.

use std::fmt;
use std::time::Duration;

use http::header::RETRY_AFTER;

use crate::{Attempt, Attempts, Reply};

/// Attempts shown at the beginning and at the end of a long log.
const HEAD: usize = 30;
const TAIL: usize = 10;
/// Marks shown, each with the attempt before it, wherever in the log they are.
const MARKS: usize = 10;

/// One attempt of a timeline to point at, by its number, and why.
pub(crate) struct Mark {
    pub(crate) number: usize,
    pub(crate) note: String,
}

/// Prints attempts one a line, without queries, headers or bodies.
pub(crate) struct Timeline<'a> {
    pub(crate) attempts: &'a Attempts,
    pub(crate) marks: &'a [Mark],
}

impl Timeline<'_> {
    /// Which attempts to print: all of a short log; of a long one both ends and what is marked.
    fn visible(&self) -> Vec<bool> {
        let len = self.attempts.len();
        let mut visible: Vec<_> = (0..len).map(|i| i < HEAD || i + TAIL >= len).collect();
        for mark in self.marks.iter().take(MARKS) {
            if let Some(i) = self.attempts.iter().position(|attempt| attempt.number() == mark.number) {
                visible[i.saturating_sub(1)..=i].fill(true);
            }
        }
        visible
    }
}

impl fmt::Display for Timeline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.attempts.which)?;
        if let Some(route) = &self.attempts.route {
            write!(f, " on {route}")?;
        }
        write!(f, ": {}", self.attempts.len())?;
        let mut left_out = 0;
        for (attempt, visible) in self.attempts.iter().zip(self.visible()) {
            if !visible {
                left_out += 1;
                continue;
            }
            if left_out > 0 {
                write!(f, "\n  ... {left_out} more")?;
                left_out = 0;
            }
            write!(f, "\n  {}", Line(attempt))?;
            for mark in self.marks.iter().filter(|mark| mark.number == attempt.number()) {
                write!(f, "  <-- {}", mark.note)?;
            }
        }
        Ok(())
    }
}

struct Line<'a>(&'a Attempt);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempt = self.0;
        let (number, since) = (format!("#{}", attempt.number()), format!("+{:?}", shown(attempt.since())));
        write!(f, "{number:<5} {since:>12}  {} {}  ", attempt.method(), attempt.path())?;
        let Some(answer) = &attempt.answer else { return f.write_str("not answered") };
        Said(answer).fmt(f)
    }
}

struct Said<'a>(&'a Reply);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reply = self.0;
        let (instead, later) = match reply.fault() {
            Some(fault) if fault.is_before_head() => (Some(fault), None),
            fault => (None, fault),
        };
        match instead {
            Some(fault) => write!(f, "{fault}")?,
            None => write!(f, "{}", reply.status().as_u16())?,
        }
        let hints = reply.headers().get_all(RETRY_AFTER).iter().filter(|_| instead.is_none());
        for value in hints {
            write!(f, " retry-after: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        if !reply.wait().is_zero() {
            write!(f, " after {:?}", reply.wait())?;
        }
        if let Some(pace) = reply.pace().filter(|_| instead.is_none()) {
            write!(f, ", {} bytes of the body every {:?}", pace.piece, pace.every)?;
        }
        later.map_or(Ok(()), |fault| write!(f, ", {fault}"))
    }
}

/// The duration cut to the microsecond: cut, so that what falls short of a limit never reads as if it met it.
pub(crate) fn shown(duration: Duration) -> Duration {
    duration - Duration::from_nanos(u64::from(duration.subsec_nanos() % 1000))
}
