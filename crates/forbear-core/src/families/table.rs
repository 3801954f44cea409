//! One unchanging set of families: who has which host, suffix, route and name.

use std::collections::HashMap as Owners;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use http::{HeaderName, Uri};

use crate::dialect::Dialect;
use crate::gate::{Gate, Listeners};
use crate::host::{Host, LONGEST, is_normal, split_port};
use crate::stale::StalePolicy;

use super::automatic::Automatic;
use super::builder::InvalidFamilies;
use super::check;
use super::family::{Family, FamilyName, Unknown};
use super::lately;
use super::registry::Found;

/// One family: its gate and how its vendor speaks.
#[derive(Debug)]
pub struct Member {
    /// May it be called now, and what did it answer?
    pub gate: Arc<Gate>,
    /// How its vendor phrases signals.
    pub dialect: Dialect,
    /// How long its answers are served past their freshness, where it has a policy of its own.
    pub stale: Option<Arc<StalePolicy>>,
    /// The request header whose values are partitions.
    pub partition_header: Option<HeaderName>,
    /// Whether a signal that does not state its scope is about one partition.
    pub per_partition: bool,
    /// Whether it was made for a host that nobody registered.
    pub automatic: bool,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    /// Which of all tables of its registry it is.
    pub(super) version: u64,
    pub(super) members: Vec<Arc<Member>>,
    names: HashMap<Box<str>, usize, RandomState>,
    hosts: HashMap<Box<str>, HostEntry, RandomState>,
    /// Hosts that one family has whole, whatever the path.
    wholes: Vec<(Box<str>, Arc<Member>)>,
    suffixes: HashMap<Box<str>, usize, RandomState>,
    unknown: Unknown,
    /// Whether any family is paced.
    pub(super) paces: bool,
}

#[derive(Debug, Default)]
struct HostEntry {
    whole: Option<usize>,
    paths: matchit::Router<usize>,
    has_paths: bool,
    /// Its place among `wholes`.
    place: Option<usize>,
}

impl Table {
    /// The table of `families`. A family that `before` had keeps its gate, and so where it stands.
    pub(super) fn of(
        families: &[Family],
        unknown: Unknown,
        before: &Self,
        listeners: &Arc<Listeners>,
    ) -> Result<Self, InvalidFamilies> {
        let version = before.version.wrapping_add(1);
        let mut table = Self { version, unknown, ..Self::default() };
        let mut owners = Owners::new();
        for family in families {
            table
                .add(&mut owners, family, (before, listeners))
                .map_err(|problem| InvalidFamilies::new(&family.name, problem))?;
        }
        table.place_wholes();
        Ok(table)
    }

    fn place_wholes(&mut self) {
        for (host, entry) in self.hosts.iter_mut().filter(|(_, entry)| !entry.has_paths) {
            if let Some(member) = entry.whole.and_then(|at| self.members.get(at)) {
                entry.place = Some(self.wholes.len());
                self.wholes.push((host.clone(), Arc::clone(member)));
            }
        }
    }

    fn add(
        &mut self,
        owners: &mut Owners<String, String>,
        family: &Family,
        (before, listeners): (&Self, &Arc<Listeners>),
    ) -> Result<(), String> {
        let Family { name, hosts, suffixes, routes, gate, pacing, dialect, .. } = family;
        let at = self.members.len();
        check::name(name)?;
        if self.names.contains_key(name.as_str()) {
            return Err("is there twice; give every family a name of its own".into());
        }
        gate.check().map_err(|(key, why)| format!("{key} is {why}"))?;
        if let Some(pacing) = pacing {
            pacing.check().map_err(|(key, why)| format!("{key} is {why}"))?;
            self.paces = true;
        }
        for host in hosts {
            let host = check::host(host)?;
            own(owners, format!("host {host:?}"), name)?;
            self.hosts.entry(host.into()).or_insert_with(HostEntry::default).whole = Some(at);
        }
        for suffix in suffixes {
            let suffix = check::suffix(suffix)?;
            own(owners, format!("host suffix {suffix:?}"), name)?;
            self.suffixes.insert(suffix.into(), at);
        }
        for (host, path) in routes {
            let host = check::host(host)?;
            check::path(path)?;
            own(owners, route(&host, path), name)?;
            let entry = self.hosts.entry(host.as_str().into()).or_insert_with(HostEntry::default);
            entry.has_paths = true;
            entry.paths.insert(path, at).map_err(|why| match &why {
                matchit::InsertError::Conflict { with } => {
                    let other = owners.get(&route(&host, with));
                    let whose = other.map_or(String::new(), |other| format!(" of family {other:?}"));
                    format!(
                        "route path {path:?} matches what {with:?}{whose} matches; leave out one of the two"
                    )
                }
                _ => format!(
                    "route path {path:?} cannot be read ({why}); write it like /v1/{{id}} or /v1/{{*rest}}"
                ),
            })?;
        }
        let gate = match before.named(name) {
            Some(member) => Arc::clone(&member.gate),
            None => {
                let gate = Gate::heard(name.as_str(), Arc::new(gate.clone()), Some(Arc::clone(listeners)));
                gate.pace(pacing.as_deref());
                gate
            }
        };
        let partition_header = family.partition_header.as_deref().map(check::header).transpose()?;
        let dialect = dialect.clone();
        self.members.push(Arc::new(Member {
            gate,
            dialect,
            stale: family.stale.clone(),
            partition_header,
            per_partition: family.per_partition,
            automatic: false,
        }));
        self.names.insert(name.as_str().into(), at);
        Ok(())
    }

    /// The family of a request to `uri`; `name` where the request names it outright. A URI without a host matches
    /// `host`, the request's `Host` field.
    #[inline]
    pub(super) fn find(
        &self,
        automatic: &Automatic,
        uri: &Uri,
        host: Option<&str>,
        name: Option<&FamilyName>,
    ) -> Found<'_> {
        if let Some(name) = name {
            return self.named(name.as_str()).map_or(Found::Unknown, Found::Member);
        }
        let Some(authority) = uri.authority().map(http::uri::Authority::as_str).or(host) else {
            return self.unknown(automatic, None);
        };
        if let Some((host, member)) = self.wholes.get(lately::place())
            && **host == *authority
        {
            return Found::Member(member);
        }
        self.find_anew(automatic, uri, authority)
    }

    fn find_anew(&self, automatic: &Automatic, uri: &Uri, authority: &str) -> Found<'_> {
        // As sent, most authorities are in their normal form already.
        if let Some(entry) = self.hosts.get(authority)
            && let Some(member) = self.member(entry, uri)
        {
            if let Some(place) = entry.place {
                lately::note(place);
            }
            return Found::Member(member);
        }
        if is_normal(authority) && !authority.is_empty() && authority.len() <= LONGEST {
            let under = self.under(authority);
            return under.map_or_else(|| self.unknown(automatic, Some(authority)), Found::Member);
        }
        let https = uri.scheme() != Some(&http::uri::Scheme::HTTP);
        let Some(host) = Host::of(authority, https) else { return self.unknown(automatic, None) };
        let entries = [host.full(), host.name()].into_iter().filter_map(|host| self.hosts.get(host));
        let found = entries.filter_map(|entry| self.member(entry, uri)).next();
        match found.or_else(|| self.under(host.full())).or_else(|| self.under(host.name())) {
            Some(member) => Found::Member(member),
            None => self.unknown(automatic, Some(host.full())),
        }
    }

    /// Who has the whole of `host`, in its normal form, with its port where that is not the default.
    pub(super) fn owner(&self, host: &str) -> Option<&Arc<Member>> {
        let name = split_port(host).0;
        self.whole(host)
            .or_else(|| self.whole(name))
            .or_else(|| self.under(host))
            .or_else(|| self.under(name))
    }

    /// The family of the longest suffix of `host`, in its normal form.
    pub(super) fn under(&self, host: &str) -> Option<&Arc<Member>> {
        if self.suffixes.is_empty() {
            return None;
        }
        let dots = host.match_indices('.').map(|(dot, _)| dot.saturating_add(1));
        let suffixes = std::iter::once(0).chain(dots).filter_map(|from| host.get(from..));
        suffixes.filter_map(|suffix| self.suffixes.get(suffix)).next().and_then(|at| self.members.get(*at))
    }

    /// `host` in its normal form.
    fn unknown(&self, automatic: &Automatic, host: Option<&str>) -> Found<'_> {
        match (self.unknown, host) {
            (Unknown::Refuse, _) => Found::Unknown,
            (Unknown::PerHost, Some(host)) => automatic.get(host).map_or(Found::Healthy, Found::Automatic),
            (Unknown::PerHost, None) | (Unknown::PassThrough, _) => Found::PassThrough,
        }
    }

    pub(super) fn named(&self, name: &str) -> Option<&Arc<Member>> {
        self.names.get(name).and_then(|at| self.members.get(*at))
    }

    /// The family of all routes of `host`, in its normal form.
    fn whole(&self, host: &str) -> Option<&Arc<Member>> {
        self.hosts.get(host)?.whole.and_then(|at| self.members.get(at))
    }

    #[inline]
    fn member(&self, entry: &HostEntry, uri: &Uri) -> Option<&Arc<Member>> {
        let by_path = || entry.paths.at(uri.path()).ok().map(|found| *found.value);
        let at = if entry.has_paths { by_path() } else { None };
        at.or(entry.whole).and_then(|at| self.members.get(at))
    }
}

fn route(host: &str, path: &str) -> String {
    format!("route {host}{path:?}")
}

/// Remembers who has a host, suffix or route; an error where somebody else has it.
fn own(owners: &mut Owners<String, String>, what: String, name: &str) -> Result<(), String> {
    match owners.get(&what) {
        Some(other) if other == name => Err(format!("names {what} twice; once is enough")),
        Some(other) => Err(format!("{what} belongs to family {other:?} already; give it to one of the two")),
        None => {
            owners.insert(what, name.to_owned());
            Ok(())
        }
    }
}
