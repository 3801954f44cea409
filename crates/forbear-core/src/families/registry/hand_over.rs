//! A host that changes hands takes its cool-down along: the vendor asked for it, whatever we call it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::host::split_port;
use crate::time::Monotonic;

use super::super::builder::FamiliesBuilder;
use super::super::check;
use super::super::family::{Family, Unknown};
use super::super::table::{Member, Table};
use super::Registry;

/// Families as they are defined, and the table that was made of them.
pub(super) type Defined<'a> = (&'a FamiliesBuilder, &'a Table);

fn hosts(family: &Family) -> impl Iterator<Item = String> {
    family.hosts.iter().filter_map(|host| check::host(host).ok())
}

/// Host and path of every route of a family.
fn routes(family: &Family) -> impl Iterator<Item = (String, &str)> {
    family.routes.iter().filter_map(|(host, path)| Some((check::host(host).ok()?, &**path)))
}

impl Registry {
    /// To what has its hosts, suffixes and routes now, from a family whose name is gone. A host that nobody has becomes an
    /// automatic family, where that is the policy.
    pub(super) fn inherit_gone(&self, before: Defined<'_>, after: Defined<'_>, now: Monotonic) {
        let gone = before.0.families.iter().zip(&before.1.members);
        for (family, gone) in gone.filter(|(family, _)| after.1.named(&family.name).is_none()) {
            if gone.gate.is_idle(now) {
                continue;
            }
            for host in hosts(family) {
                match after.1.owner(&host) {
                    Some(owner) => owner.gate.inherit(&gone.gate, now),
                    None if after.0.unknown == Unknown::PerHost => {
                        self.automatic.make(&host, now).gate.inherit(&gone.gate, now);
                    }
                    None => {}
                }
            }
            for suffix in family.suffixes.iter().filter_map(|suffix| check::suffix(suffix).ok()) {
                if let Some(owner) = after.1.under(&suffix) {
                    owner.gate.inherit(&gone.gate, now);
                }
            }
            let had: HashSet<_> = routes(family).collect();
            for (family, member) in after.0.families.iter().zip(&after.1.members) {
                if routes(family).any(|route| had.contains(&route)) {
                    member.gate.inherit(&gone.gate, now);
                }
            }
        }
    }

    /// To the registered families that have their hosts now, from automatic ones; those are dropped where `take` says so.
    /// A new route of a host has its cool-down too, while the automatic family stays for the rest.
    pub(super) fn inherit_automatic(
        &self,
        before: Defined<'_>,
        after: Defined<'_>,
        take: bool,
        now: Monotonic,
    ) {
        let automatic = self.automatic.of_hosts();
        if automatic.is_empty() {
            return;
        }
        let known: HashSet<_> = before.0.families.iter().flat_map(routes).collect();
        let mut new: HashMap<String, Vec<&Arc<Member>>> = HashMap::new();
        for (family, member) in after.0.families.iter().zip(&after.1.members) {
            for (host, _) in routes(family).filter(|route| !known.contains(route)) {
                new.entry(host).or_default().push(member);
            }
        }
        for automatic in automatic {
            let host: &str = automatic.gate.name();
            let name = Some(split_port(host).0).filter(|name| *name != host);
            let routed = [Some(host), name].into_iter().flatten().filter_map(|host| new.get(host)).flatten();
            routed.for_each(|member| member.gate.inherit(&automatic.gate, now));
            if let Some(owner) = after.1.owner(host) {
                owner.gate.inherit(&automatic.gate, now);
                if take {
                    let _ = self.automatic.take(host);
                }
            }
        }
    }
}
