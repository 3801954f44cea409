use std::fmt;
use std::sync::Arc;

use std::collections::HashMap;

use crate::gate::Gate;
use crate::host::split_port;

use super::family::{Family, Unknown};
use super::table::{Families, HostEntry, Member, Table};

/// Collects families. See [`Families::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "call `build` to get the families"]
pub struct FamiliesBuilder {
    families: Vec<Family>,
    unknown: Unknown,
}

/// Families that cannot work together, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidFamilies {
    family: String,
    problem: String,
}

impl InvalidFamilies {
    /// The family it was found at.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }
}

impl fmt::Display for InvalidFamilies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "family {:?}: {}", self.family, self.problem)
    }
}

impl std::error::Error for InvalidFamilies {}

impl FamiliesBuilder {
    /// Adds a family.
    pub fn family(mut self, family: Family) -> Self {
        self.families.push(family);
        self
    }

    /// What happens to requests whose host no family has ([`Unknown::PerHost`]).
    pub fn unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// Checks everything, and makes the families.
    ///
    /// # Errors
    /// [`InvalidFamilies`] names the family, the value that is wrong and what is allowed: an empty or doubled name, a
    /// host that is none, a host or route of two families, a setting that cannot work.
    pub fn build(self) -> Result<Families, InvalidFamilies> {
        let mut table = Table { unknown: self.unknown, ..Table::default() };
        let mut owners: HashMap<String, String> = HashMap::new();
        for family in self.families {
            let name = family.name.clone();
            let at = table.members.len();
            add(&mut table, &mut owners, family, at)
                .map_err(|problem| InvalidFamilies { family: name, problem })?;
        }
        Ok(Families::of(table))
    }
}

fn add(
    table: &mut Table,
    owners: &mut HashMap<String, String>,
    family: Family,
    at: usize,
) -> Result<(), String> {
    let Family { name, hosts, routes, gate, dialect } = family;
    check_name(&name)?;
    if table.names.contains_key(name.as_str()) {
        return Err("is there twice; give every family a name of its own".into());
    }
    gate.check().map_err(|(key, why)| format!("{key} is {why}"))?;
    for host in &hosts {
        let host = check_host(host)?;
        own(owners, format!("host {host:?}"), &name)?;
        table.hosts.entry(host.into()).or_insert_with(HostEntry::default).whole = Some(at);
    }
    for (host, path) in &routes {
        let host = check_host(host)?;
        if !path.starts_with('/') {
            return Err(format!("route path {path:?} must begin with '/'"));
        }
        // Allowed in a path, but nobody who writes it means an asterisk.
        if path.split('/').any(|segment| segment == "*") {
            return Err(format!("route path {path:?} has a wildcard; write it like /v1/{{*rest}}"));
        }
        own(owners, format!("route {host}{path:?}"), &name)?;
        let entry = table.hosts.entry(host.into()).or_insert_with(HostEntry::default);
        entry.has_paths = true;
        entry.paths.insert(path, at).map_err(|why| format!("route path {path:?} cannot be used: {why}"))?;
    }
    let name: Arc<str> = name.into();
    let gate = Gate::new(Arc::clone(&name), Arc::new(gate));
    table.members.push(Arc::new(Member { gate, dialect, automatic: false }));
    table.names.insert(name.as_ref().into(), at);
    Ok(())
}

/// Remembers who has a host or route; an error where somebody else has it.
fn own(owners: &mut HashMap<String, String>, what: String, name: &str) -> Result<(), String> {
    match owners.get(&what) {
        Some(other) if other == name => Err(format!("names {what} twice; once is enough")),
        Some(other) => Err(format!("{what} belongs to family {other:?} already; give it to one of the two")),
        None => {
            owners.insert(what, name.to_owned());
            Ok(())
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("has no name; give it one, such as the vendor's".into());
    }
    if name.len() > 64 || name.chars().any(char::is_control) {
        return Err(
            "has a name that is too long or holds control characters; use at most 64 printable bytes".into(),
        );
    }
    Ok(())
}

/// A host as the table keys it: lower case, without a trailing dot.
fn check_host(host: &str) -> Result<String, String> {
    let why = |what: &str| {
        Err(format!("host {host:?} {what}; write it like api.example.com or api.example.com:8443"))
    };
    if host.contains("://") {
        return why("has a scheme");
    }
    if host.contains('@') {
        return why("has userinfo");
    }
    if host.contains(['/', '?', '#']) {
        return why("has a path; use Family::route for that");
    }
    if host.contains('*') {
        return why("has a wildcard");
    }
    if host.parse::<http::uri::Authority>().is_err() {
        return why("is not a host");
    }
    let (name, port) = split_port(host);
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if name.is_empty() {
        return why("is empty");
    }
    match port {
        Some(port) if port.parse::<u16>().is_err() => why("has a port that is no number"),
        Some(port) => Ok(format!("{name}:{port}")),
        None => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{GateSettings, Ladder};
    use std::time::Duration;

    fn problem(families: impl IntoIterator<Item = Family>) -> String {
        let builder = families.into_iter().fold(Families::builder(), FamiliesBuilder::family);
        builder.build().unwrap_err().to_string()
    }

    #[test]
    fn a_host_of_two_families_names_both() {
        let text =
            problem([Family::new("a").host("api.example.com"), Family::new("b").host("API.example.com.")]);
        assert!(
            text.contains("\"a\"") && text.contains("\"b\"") && text.contains("api.example.com"),
            "{text}"
        );
        let text =
            problem([Family::new("a").route("h.example", "/x"), Family::new("b").route("h.example", "/x")]);
        assert!(text.contains("\"a\"") && text.contains("\"b\"") && text.contains("/x"), "{text}");
    }

    #[test]
    fn what_cannot_work_is_said() {
        assert!(problem([Family::new("")]).contains("no name"));
        assert!(problem([Family::new("a"), Family::new("a")]).contains("twice"));
        assert!(problem([Family::new("a").host("https://x.example")]).contains("scheme"));
        assert!(problem([Family::new("a").host("x.example/v1")]).contains("path"));
        assert!(problem([Family::new("a").host("x.example:http")]).contains("host \"x.example:http\""));
        assert!(problem([Family::new("a").host("*.x.example")]).contains("wildcard"));
        assert!(problem([Family::new("a").host("u:p@x.example")]).contains("userinfo"));
        assert!(problem([Family::new("a").host("x y")]).contains("not a host"));
        assert!(problem([Family::new("a").route("x.example", "v1")]).contains("must begin with '/'"));
        assert!(problem([Family::new("a").route("x.example", "/{")]).contains("/{"));
        assert!(problem([Family::new("a").route("x.example", "/v1/*")]).contains("/v1/{*rest}"));
        let settings = GateSettings::registered().attempt_timeout(Duration::ZERO);
        assert!(problem([Family::new("a").gate(settings)]).contains("attempt_timeout"));
        assert!(problem([Family::new("a").throttled_ladder(Ladder::new([]))]).contains("throttled_ladder"));
    }
}
