//! The vendors' handbook, `docs/vendors.md`, is true: its table, its words, and the dialect that it writes.

#![allow(clippy::panic, reason = "these are the assertions of tests")]

mod acme;
mod buckets;
mod presets;
mod streams;

const HANDBOOK: &str = include_str!("../../docs/vendors.md");

/// The first block of this language in the handbook, without its indent.
fn block(language: &str) -> String {
    let (indent, rest) = HANDBOOK.split_once(&format!("```{language}\n")).unwrap();
    let indent = indent.rsplit('\n').next().unwrap();
    let lines = rest.lines().map(|line| line.strip_prefix(indent).unwrap_or(line));
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with("```")).collect();
    lines.join("\n")
}
