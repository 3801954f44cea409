use std::sync::Arc;

use hashbrown::HashMap;
use http::Uri;

use crate::dialect::Dialect;
use crate::gate::Gate;
use crate::host::{Host, LONGEST, is_normal};
use crate::living::{Id, Living};
use crate::time::Monotonic;

use super::automatic::Automatic;
use super::builder::FamiliesBuilder;
use super::family::{FamilyName, Unknown};

/// All sets of families of the process.
static FAMILIES: Living<Inner> = Living::new();

/// The families of a program and where they stand. Clones share everything.
#[derive(Debug, Clone)]
pub struct Families(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Id,
    table: Table,
    automatic: Automatic,
}

/// One family: its gate and how its vendor speaks.
#[derive(Debug)]
pub struct Member {
    /// May it be called now, and what did it answer?
    pub gate: Arc<Gate>,
    /// How its vendor phrases signals.
    pub dialect: Dialect,
    /// Whether it was made for a host that nobody registered.
    pub automatic: bool,
}

/// Names a set of [`Families`] without holding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamiliesId(Id);

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) members: Vec<Arc<Member>>,
    pub(super) names: HashMap<Box<str>, usize, foldhash::fast::RandomState>,
    pub(super) hosts: HashMap<Box<str>, HostEntry, foldhash::fast::RandomState>,
    pub(super) unknown: Unknown,
}

#[derive(Debug, Default)]
pub(super) struct HostEntry {
    pub(super) whole: Option<usize>,
    pub(super) paths: matchit::Router<usize>,
    pub(super) has_paths: bool,
}

/// Where a request belongs.
#[derive(Debug)]
pub enum Found<'a> {
    /// A family that has state.
    Member(&'a Arc<Member>),
    /// An automatic family that has state.
    Automatic(Arc<Member>),
    /// A host without a family that never signalled a limit: send; [`FamiliesId::member_for`] makes its family where
    /// it does.
    Healthy,
    /// Send, and learn nothing from it.
    PassThrough,
    /// No family has this host or name, and it must not be sent.
    Unknown,
}

impl Families {
    /// Begins a set of families.
    pub fn builder() -> FamiliesBuilder {
        FamiliesBuilder::default()
    }

    pub(super) fn of(table: Table) -> Self {
        Self(FAMILIES.add(|id| Inner { id, table, automatic: Automatic::default() }))
    }

    /// What [`Found::Healthy`] needs later.
    #[must_use]
    #[inline]
    pub fn id(&self) -> FamiliesId {
        FamiliesId(self.0.id)
    }

    /// The family of a request to `uri`; `name` where the request names it outright. A URI without a host matches
    /// `host`, the request's `Host` field.
    #[must_use]
    #[inline]
    pub fn find(&self, uri: &Uri, host: Option<&str>, name: Option<&FamilyName>) -> Found<'_> {
        if let Some(name) = name {
            return self.named(name.as_str()).map_or(Found::Unknown, Found::Member);
        }
        let Some(authority) = uri.authority().map(http::uri::Authority::as_str).or(host) else {
            return self.unknown(None);
        };
        let table = &self.0.table;
        // As sent, most authorities are in their normal form already.
        if let Some(member) = table.hosts.get(authority).and_then(|entry| table.member(entry, uri)) {
            return Found::Member(member);
        }
        if is_normal(authority) && !authority.is_empty() && authority.len() <= LONGEST {
            return self.unknown(Some(authority));
        }
        let https = uri.scheme() != Some(&http::uri::Scheme::HTTP);
        let Some(host) = Host::of(authority, https) else { return self.unknown(None) };
        let entries = [host.full(), host.name()].into_iter().filter_map(|host| table.hosts.get(host));
        match entries.filter_map(|entry| table.member(entry, uri)).next() {
            Some(member) => Found::Member(member),
            None => self.unknown(Some(host.full())),
        }
    }

    /// `host` in its normal form.
    fn unknown(&self, host: Option<&str>) -> Found<'_> {
        match (self.0.table.unknown, host) {
            (Unknown::Refuse, _) => Found::Unknown,
            (Unknown::PerHost, Some(host)) => {
                self.0.automatic.get(host).map_or(Found::Healthy, Found::Automatic)
            }
            (Unknown::PerHost, None) | (Unknown::PassThrough, _) => Found::PassThrough,
        }
    }

    /// The registered family of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Arc<Member>> {
        self.0.table.names.get(name).and_then(|at| self.0.table.members.get(*at))
    }

    /// All families that have state: the registered ones in the order of their registration, then automatic ones by
    /// name.
    #[must_use]
    pub fn members(&self) -> Vec<Arc<Member>> {
        let mut automatic = self.0.automatic.members();
        automatic.sort_by(|one, other| one.gate.name().cmp(other.gate.name()));
        self.0.table.members.iter().cloned().chain(automatic).collect()
    }

    /// How often a host found no room for a family of its own and was put into the shared one.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.0.automatic.overflows()
    }
}

impl FamiliesId {
    /// The family that answers for `uri`, where it has state.
    #[must_use]
    pub fn existing(self, uri: &Uri) -> Option<Arc<Member>> {
        match Families(FAMILIES.find(self.0)?).find(uri, None, None) {
            Found::Member(member) => Some(Arc::clone(member)),
            Found::Automatic(member) => Some(member),
            Found::Healthy | Found::PassThrough | Found::Unknown => None,
        }
    }

    /// The family that answers for `uri`, made where it is a host's first signal. `None` where the families are gone,
    /// or where the host belongs to none.
    #[must_use]
    pub fn member_for(self, uri: &Uri, now: Monotonic) -> Option<Arc<Member>> {
        let families = Families(FAMILIES.find(self.0)?);
        match families.find(uri, None, None) {
            Found::Member(member) => Some(Arc::clone(member)),
            Found::Automatic(member) => Some(member),
            Found::Healthy => {
                let https = uri.scheme() != Some(&http::uri::Scheme::HTTP);
                let host = Host::of(uri.authority()?.as_str(), https)?;
                Some(families.0.automatic.make(host.full(), now))
            }
            Found::PassThrough | Found::Unknown => None,
        }
    }
}

impl Table {
    #[inline]
    fn member(&self, entry: &HostEntry, uri: &Uri) -> Option<&Arc<Member>> {
        let by_path = || entry.paths.at(uri.path()).ok().map(|found| *found.value);
        let at = if entry.has_paths { by_path() } else { None };
        at.or(entry.whole).and_then(|at| self.members.get(at))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        FAMILIES.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Family;
    use super::*;

    fn name(families: &Families, uri: &str) -> String {
        let uri: Uri = uri.parse().unwrap();
        match families.find(&uri, None, None) {
            Found::Member(member) => member.gate.name().to_string(),
            Found::Automatic(member) => format!("auto {}", member.gate.name()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_route_wins_over_its_host_and_a_port_over_none() {
        let families = Families::builder()
            .family(Family::new("host").host("api.example.com"))
            .family(Family::new("port").host("api.example.com:8443"))
            .family(Family::new("route").route("api.example.com", "/v8/{*rest}"))
            .unknown(Unknown::Refuse)
            .build()
            .unwrap();
        assert_eq!(name(&families, "https://api.example.com/v1"), "host");
        assert_eq!(name(&families, "https://u:p@API.example.com.:443/v1?q"), "host");
        assert_eq!(name(&families, "https://api.example.com:1234/v1"), "host");
        assert_eq!(name(&families, "https://api.example.com:8443/v1"), "port");
        assert_eq!(name(&families, "https://api.example.com/v8/chart"), "route");
        assert_eq!(name(&families, "https://other.example.com/"), "Unknown");
    }

    #[test]
    fn a_name_wins_over_the_host_and_a_wrong_one_is_refused() {
        let families = Families::builder().family(Family::new("a").host("a.example")).build().unwrap();
        let uri = Uri::from_static("https://b.example/");
        let found = families.find(&uri, None, Some(&FamilyName::from_static("a")));
        assert!(matches!(found, Found::Member(member) if &**member.gate.name() == "a"));
        let found = families.find(&uri, None, Some(&FamilyName::from_static("b")));
        assert!(matches!(found, Found::Unknown));
    }

    #[test]
    fn a_healthy_host_has_no_entry_until_it_signals() {
        let families = Families::builder().build().unwrap();
        let uri = Uri::from_static("http://h.example:8080/x");
        assert_eq!(name(&families, "http://h.example:8080/x"), "Healthy");
        let member = families.id().member_for(&uri, Monotonic::ORIGIN).unwrap();
        assert!(member.automatic);
        assert_eq!(name(&families, "http://H.example:8080/y"), "auto h.example:8080");
        assert_eq!(name(&families, "http://h.example/"), "Healthy");
        let id = families.id();
        drop(families);
        assert!(id.member_for(&uri, Monotonic::ORIGIN).is_none());
    }

    #[test]
    fn a_relative_uri_is_matched_by_its_host_field() {
        let families = Families::builder().family(Family::new("a").host("a.example")).build().unwrap();
        let uri = Uri::from_static("/path");
        assert!(matches!(families.find(&uri, Some("a.example"), None), Found::Member(_)));
        assert!(matches!(families.find(&uri, None, None), Found::PassThrough));
    }
}
