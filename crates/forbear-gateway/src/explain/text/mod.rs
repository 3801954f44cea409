//! A reading for people.

mod outcome;
mod rows;
mod signal;
mod when;

use std::time::SystemTime;

use forbear_core::dialect::{Dialect, Quota, Reading, Verdict};
use forbear_core::signal::Evidence;

use super::Explained;
use super::body::Look;
use rows::Rows;
use when::{Length, at, until};

pub(super) fn text(explained: &Explained<'_>) -> String {
    let Explained { response, dialect, reading, look, now, notes } = explained;
    let mut rows = Rows::default();
    rows.row("response", &first_line(&response.line, response.before));
    rows.row("dialect", dialect);
    rows.row("body", &body(response.body.len(), look));
    rows.gap();
    match reading.signal() {
        Some(signal) => signal::limit(&mut rows, signal, *now),
        None => no_limit(&mut rows, reading, *now),
    }
    rows.rows("quotas", reading.quotas.iter().map(|one| quota(one, *now)));
    rows.rows("evidence", reading.evidence.iter().map(|one| evidence(one, response.status.as_str())));
    rows.rows("forbear", consequence(reading));
    if !notes.is_empty() {
        rows.gap();
        rows.rows("note", notes.iter().cloned());
    }
    rows.end()
}

fn first_line(line: &str, before: usize) -> String {
    match before {
        0 => line.to_owned(),
        before => format!("{line} (the last of {})", before.saturating_add(1)),
    }
}

fn body(length: usize, look: &Look) -> String {
    match look {
        Look::At(_) | Look::NotWanted if length == 0 => "none".to_owned(),
        Look::At(body) if body.len() == Dialect::MAX_BODY => {
            format!("{length} bytes, looked at the first {}", body.len())
        }
        Look::At(_) => format!("{length} bytes, looked at"),
        Look::Coded(codings) => format!("{length} bytes, not looked at: content-encoding {codings}"),
        Look::NotWanted => format!("{length} bytes, not looked at: no rule asks for it"),
    }
}

fn no_limit(rows: &mut Rows, reading: &Reading, now: SystemTime) {
    rows.row("limit", "none");
    if let Some(reason) = &reading.reason {
        rows.row("reason", reason.as_str());
    }
    if let Some(delay) = reading.information {
        rows.row("told to wait", &until(delay, now));
    }
    if let Some(limit) = &reading.limit {
        rows.row("scope", &format!("`{limit}`"));
    }
}

fn consequence(reading: &Reading) -> Vec<String> {
    let mut lines = match &reading.verdict {
        Verdict::Bad(signal) => return signal::consequence(signal),
        Verdict::Good => {
            vec!["takes it that the vendor serves, and hands the answer to the caller".to_owned()]
        }
        _ => vec!["learns nothing of the vendor from it, and hands the answer to the caller".to_owned()],
    };
    if reading.information.is_some() {
        lines.push("does not wait: a delay on an answer that is no limit is information".to_owned());
    }
    lines
}

/// `core: 0 of 5000 left, in a window of 1h00m, more in 1m00s, at 2026-11-30T00:01:00Z`.
fn quota(quota: &Quota, now: SystemTime) -> String {
    let mut parts = Vec::new();
    match (quota.remaining, quota.limit) {
        (Some(remaining), Some(limit)) => parts.push(format!("{remaining} of {limit} left")),
        (Some(remaining), None) => parts.push(format!("{remaining} left")),
        (None, Some(limit)) if quota.exhausted => parts.push(format!("none of {limit} left")),
        (None, Some(limit)) => parts.push(format!("a limit of {limit}")),
        (None, None) if quota.exhausted => parts.push("none left".to_owned()),
        (None, None) => {}
    }
    parts.extend(quota.window.map(|window| format!("in a window of {}", Length(window))));
    parts.extend(quota.reset.map(|reset| format!("more in {}", at(reset, now))));
    let told = parts.join(", ");
    match &quota.name {
        Some(name) => format!("{name}: {told}"),
        None => told,
    }
}

fn evidence(evidence: &Evidence, status: &str) -> String {
    match (&*evidence.source, &*evidence.value) {
        ("status", "") => format!("status: {status}"),
        (source, value) => format!("{source}: {value}"),
    }
}
