//! Whose limit an attempt counts against.

use std::sync::Arc;

use forbear_core::families::Member;
use forbear_core::gate::{Gate, Suspect};
use forbear_core::partition::Partition;
use forbear_core::signal::{Scope, Signal as Said};
use forbear_core::time::Monotonic;
use http::Request;

/// Whose limit an attempt counts against, besides its family's.
pub(crate) struct Whose {
    pub(crate) counted: Counted,
    /// The gate of the part that it counts in, where that has one.
    pub(crate) part: Option<Arc<Gate>>,
    /// Whether it matters that its route is accepted.
    pub(crate) suspect: bool,
}

/// What tells the part of a family that a signal is about.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) partition: Option<Partition>,
    /// Whether a signal that does not state its scope is about that alone.
    pub(crate) per_partition: bool,
    /// The template of its route, where the vendor's limits are for buckets or routes.
    pub(crate) route: Option<Partition>,
    /// The fingerprint of the words that named its bucket last; zero where it has none that is known.
    pub(crate) told: u64,
}

impl Whose {
    /// Of a request: by credential, as it says itself, else as its family reads a header.
    #[inline]
    pub(crate) fn of_request<B>(request: &Request<B>, member: &Member, now: Monotonic) -> Self {
        let route = || Some(Partition::of_template(request.method(), request.uri().path()));
        Self::of(member, request.uri().path(), || partition(request, member), route, now)
    }

    /// Of an attempt on `path` of a family, whose `partition` and `route` are asked only where they count.
    #[inline]
    pub(crate) fn of(
        member: &Member,
        path: &str,
        partition: impl FnOnce() -> Option<Partition>,
        route: impl FnOnce() -> Option<Partition>,
        now: Monotonic,
    ) -> Self {
        let mut suspect = false;
        if member.gate.has_suspects()
            && let Some(Suspect { route, gate }) = member.gate.suspect(path)
        {
            // A route that is apart from its family is a part of it like any other.
            if gate.is_some() {
                let counted = Counted { partition: Some(route), per_partition: true, ..Counted::default() };
                let credential = partition().and_then(|partition| member.gate.partition(partition));
                return Self { counted, part: most_closed([credential, gate], now), suspect: true };
            }
            suspect = true;
        }
        let partition = partition();
        let counted = Counted { partition, per_partition: member.per_partition, ..Counted::default() };
        if member.dialect.names_buckets()
            && let Some(route) = route()
        {
            let known = member.gate.bucket(route);
            let told = known.map_or(0, |known| known.told);
            let counted = Counted { route: Some(route), told, ..counted };
            // Without a part that was limited there is none that could be closed.
            let limited = member.gate.has_partitions();
            let bucket = known.map(|known| known.part(counted.partition));
            let part = limited.then(|| counted.narrowest(&member.gate, route, bucket, now)).flatten();
            return Self { part, counted, suspect };
        }
        Self { counted, part: partition.and_then(|partition| member.gate.partition(partition)), suspect }
    }
}

/// The partition that a request states.
#[inline]
fn stated<B>(request: &Request<B>) -> Option<Partition> {
    request.extensions().get::<Partition>().copied()
}

/// The partition that a request counts in: as it says itself, else as its family reads a header.
#[inline]
pub(crate) fn partition<B>(request: &Request<B>, member: &Member) -> Option<Partition> {
    let by_header = || request.headers().get(member.partition_header.as_ref()?).map(Partition::of);
    stated(request).or_else(by_header)
}

impl Counted {
    /// Of the parts that an attempt counts in, its bucket, its route and its credential, the one that is closed most.
    fn narrowest(
        &self,
        family: &Gate,
        route: Partition,
        bucket: Option<Partition>,
        now: Monotonic,
    ) -> Option<Arc<Gate>> {
        let parts = [self.partition, Some(route.within(self.partition)), bucket];
        most_closed(parts.map(|part| part.and_then(|part| family.partition(part))), now)
    }

    /// The part of `family` that a signal is about, made where it has no gate. One about a part, of which nobody said which,
    /// is about the whole, as one about a bucket is that has no name.
    pub(crate) fn part(&self, signal: &Said, family: &Gate, path: &str, now: Monotonic) -> Option<Arc<Gate>> {
        match signal.scope {
            // No bucket or route is known of what is apart from its family already.
            Scope::Bucket | Scope::Route if self.route.is_none() && self.per_partition => {
                Some(family.partition_for(self.partition?, now))
            }
            Scope::Bucket => {
                let (route, name) = self.route.zip(signal.limit.as_deref())?;
                family.learn_bucket(route, name, 0, now);
                Some(family.bucket_for(name, self.partition, now))
            }
            Scope::Route => Some(family.template_for(self.route?, self.partition, path, now)),
            Scope::Partition => Some(family.partition_for(self.partition?, now)),
            Scope::Unstated if self.per_partition => Some(family.partition_for(self.partition?, now)),
            _ => None,
        }
    }
}

/// The gate that is closed most, of equals the last: nobody passes a part that cools by another that does not.
fn most_closed<const N: usize>(gates: [Option<Arc<Gate>>; N], now: Monotonic) -> Option<Arc<Gate>> {
    gates.into_iter().flatten().max_by_key(|gate| gate.closed(now))
}
