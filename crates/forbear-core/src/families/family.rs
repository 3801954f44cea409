use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::gate::{GateSettings, Ladder};
use crate::pacing::Pacing;
use crate::stale::StalePolicy;

/// The routes of one vendor that share a limit.
#[derive(Debug, Clone)]
pub struct Family {
    pub(super) name: String,
    pub(super) hosts: Vec<String>,
    pub(super) suffixes: Vec<String>,
    pub(super) routes: Vec<(String, String)>,
    pub(super) gate: GateSettings,
    pub(super) pacing: Option<Box<Pacing>>,
    pub(super) stale: Option<Arc<StalePolicy>>,
    pub(super) dialect: Dialect,
    pub(super) partition_header: Option<String>,
    pub(super) per_partition: bool,
}

impl Family {
    /// A family without hosts yet. Health, events and errors show `name`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            hosts: Vec::new(),
            suffixes: Vec::new(),
            routes: Vec::new(),
            gate: GateSettings::registered(),
            pacing: None,
            stale: None,
            dialect: Dialect::standard(),
            partition_header: None,
            per_partition: false,
        }
    }

    /// Every route of this host. `api.example.com` holds for every port, `api.example.com:8443` for that port alone.
    /// The default ports need not be named, and must not.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Every host under this domain, and the domain itself: `example.com` holds for `api.example.com` and
    /// `a.b.example.com`, not for `badexample.com`. With a port, for that port alone. A [`Family::host`] wins over a
    /// suffix, a longer suffix over a shorter one.
    #[must_use]
    pub fn host_suffix(mut self, suffix: impl Into<String>) -> Self {
        self.suffixes.push(suffix.into());
        self
    }

    /// The routes of `host` whose path matches `path`: `/v8/finance/{*rest}`, `/orders/{id}`. A route wins over a
    /// [`Family::host`], a literal segment over a parameter.
    #[must_use]
    pub fn route(mut self, host: impl Into<String>, path: impl Into<String>) -> Self {
        self.routes.push((host.into(), path.into()));
        self
    }

    /// The cool-downs after `Throttled` signals without an advertised delay (2, 5, 15, 30, 60 min).
    #[must_use]
    pub fn throttled_ladder(mut self, ladder: Ladder) -> Self {
        self.gate = self.gate.throttled_ladder(ladder);
        self
    }

    /// The cool-downs after `Overloaded` signals without an advertised delay (5 s doubling to 5 min).
    #[must_use]
    pub fn overloaded_ladder(mut self, ladder: Ladder) -> Self {
        self.gate = self.gate.overloaded_ladder(ladder);
        self
    }

    /// All numbers that its gate decides by. Replaces ladders that were set before: set those in `settings`, or after this.
    #[must_use]
    pub fn gate(mut self, settings: GateSettings) -> Self {
        self.gate = settings;
        self
    }

    /// How it is called before any signal arrives (as fast as its callers like). The limits hold for all its routes and callers
    /// of this process together.
    #[must_use]
    pub fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = Some(Box::new(pacing));
        self
    }

    /// What is stored of its answers, and how long they are served past their freshness, where a `StaleLayer` is told of the families
    /// (as that layer says for all that have none). It holds whole, in the place of the layer's.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use forbear_core::families::Family;
    /// use forbear_core::stale::StalePolicy;
    ///
    /// let news = Family::new("news").host("news.example").stale(StalePolicy::new().while_revalidate(Duration::from_secs(300)));
    /// # let _ = news;
    /// ```
    #[must_use]
    pub fn stale(mut self, policy: StalePolicy) -> Self {
        self.stale = Some(Arc::new(policy));
        self
    }

    /// Every value of this request header, such as `authorization`, is a partition: a signal that its vendor scopes to one
    /// credential closes that partition alone. Only a keyed hash of the value is kept. A
    /// [`Partition`](crate::partition::Partition) extension of the request wins.
    #[must_use]
    pub fn partition_by_header(mut self, name: impl Into<String>) -> Self {
        self.partition_header = Some(name.into());
        self
    }

    /// Its vendor limits every credential by itself: a signal that does not state its scope closes the partition of the
    /// request that met it, not the whole family. A request without a partition closes the whole.
    ///
    /// ```
    /// # use forbear_core::families::Family;
    /// let family = Family::new("mail").host("api.mail.example").partition_by_header("authorization").per_partition();
    /// # let _ = family;
    /// ```
    #[must_use]
    pub fn per_partition(mut self) -> Self {
        self.per_partition = true;
        self
    }

    /// How its vendor phrases signals ([`Dialect::standard`]).
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }
}

/// Names a request's family outright, as a request extension, instead of matching its host.
///
/// A name that no family has is an error, whatever the policy for unknown hosts: it can only be a mistake.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FamilyName(Cow<'static, str>);

impl FamilyName {
    /// A name known when the program is built.
    #[must_use]
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// A name known at run time.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(Cow::Owned(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FamilyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What happens to a request whose host no family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Unknown {
    /// Its host (with port, where it is not the default) is a family of its own, made when it first signals a limit. A
    /// request without a host passes through.
    #[default]
    PerHost,
    /// It is refused: for programs that may call known vendors only.
    Refuse,
    /// It is sent, and its answer changes nothing.
    PassThrough,
}
