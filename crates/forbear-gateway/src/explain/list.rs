//! The dialects that are known.

use forbear_core::presets;

use crate::shown::shown;

/// The dialect that is no vendor's.
const STANDARD: [&str; 3] =
    ["generic-http", "any", "RFC 9110, RFC 6585, draft-ietf-httpapi-ratelimit-headers"];
/// A list of hosts that is longer moves nothing but its own source.
const WIDEST: usize = 72;

/// Name, hosts and sources in columns, sorted by name.
pub(super) fn list() -> String {
    let mut rows = vec![STANDARD.map(str::to_owned)];
    rows.extend(presets::all().map(|preset| {
        let suffixes = preset.host_suffixes().map(|suffix| format!("*.{suffix}"));
        let hosts: Vec<String> = preset.hosts().map(str::to_owned).chain(suffixes).collect();
        let hosts = if hosts.is_empty() { "your own".to_owned() } else { hosts.join(", ") };
        [preset.name().to_owned(), hosts, preset.sources().collect::<Vec<_>>().join(", ")]
    }));
    rows.sort();
    let widths = |column: usize| rows.iter().map(move |row| row[column].chars().count());
    let first = widths(0).max().unwrap_or(0);
    let second = widths(1).filter(|width| *width <= WIDEST).max().unwrap_or(0);
    rows.iter()
        .map(|[name, hosts, source]| shown(&format!("{name:first$}  {hosts:second$}  {source}")) + "\n")
        .collect()
}
