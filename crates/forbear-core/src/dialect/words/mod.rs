//! The words that a dialect is written in: the same in Rust and in TOML.
//!
//! | word | in TOML | means |
//! |---|---|---|
//! | [`Words`] | the file | a dialect |
//! | [`Rule`] | `[[rule]]` | what one kind of answer means |
//! | [`Dimension`] | `[[dimension]]` | one thing that the vendor counts |
//! | [`Place`] | `{ header = "…" }`, `{ json = "/…" }`, `"constant"` | where a word stands, and a test of it |
//! | [`Form`] | `unit = "epoch-seconds"` | how a delay is written |

mod dimension;
mod list;
mod place;
mod rule;

pub use dimension::{Dimension, Reader};
pub(crate) use list::List;
pub(crate) use place::Keys;
pub use place::Place;
pub use rule::Rule;

pub use crate::signal::hint::Form;

use serde::Deserialize;

use super::{Dialect, InvalidDialect};
use crate::signal::Scope;

/// A dialect in words, before it is checked and compiled.
///
/// ```
/// use forbear_core::dialect::Dialect;
/// use forbear_core::dialect::words::{Dimension, Form, Place, Rule};
/// use forbear_core::signal::Class;
///
/// # fn main() -> Result<(), forbear_core::dialect::InvalidDialect> {
/// let acme = Dialect::builder("acme")
///     .rule(Rule::on([403]).when(Place::json("/error/code").is(["daily_quota"])).class(Class::Exhausted))
///     .dimension(Dimension::remaining("x-acme-left").reset("x-acme-reset", Form::EpochSeconds))
///     .build()?;
///
/// let same = Dialect::from_toml(r#"
///     name = "acme"
///
///     [[rule]]
///     status = 403
///     when = { json = "/error/code", is = "daily_quota" }
///     class = "exhausted"
///
///     [[dimension]]
///     remaining = "x-acme-left"
///     reset = "x-acme-reset"
///     unit = "epoch-seconds"
/// "#)?;
/// assert_eq!(acme.name(), same.name());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Words {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) hosts: List<String>,
    #[serde(default)]
    pub(crate) host_suffixes: List<String>,
    #[serde(default)]
    pub(crate) source: List<String>,
    #[serde(default, rename = "published")]
    pub(crate) published: Vec<Published>,
    #[serde(default = "yes")]
    pub(crate) standard: bool,
    #[serde(default)]
    pub(crate) event_streams: bool,
    #[serde(default)]
    pub(crate) delay: Option<List<Place>>,
    #[serde(default)]
    pub(crate) longest: bool,
    #[serde(default)]
    pub(crate) reason: List<Place>,
    #[serde(default)]
    pub(crate) scope: List<Place>,
    #[serde(default)]
    pub(crate) of: Option<Scope>,
    #[serde(default)]
    pub(crate) bucket: List<Place>,
    #[serde(default)]
    pub(crate) exhausted_beyond: Option<String>,
    #[serde(default, rename = "rule")]
    pub(crate) rules: Vec<Rule>,
    #[serde(default, rename = "dimension")]
    pub(crate) dimensions: Vec<Dimension>,
}

fn yes() -> bool {
    true
}

/// A limit that a vendor publishes: `requests` in any `window`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Published {
    /// What it counts for: `token`, `ip`.
    pub(crate) per: String,
    pub(crate) requests: u32,
    pub(crate) window: String,
    /// Where it is published, and when that was read.
    pub(crate) source: String,
    /// Whether that page was read, rather than remembered: an unverified limit is off.
    #[serde(default)]
    pub(crate) verified: bool,
}

impl Words {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            hosts: List::default(),
            host_suffixes: List::default(),
            source: List::default(),
            published: Vec::new(),
            standard: true,
            event_streams: false,
            delay: None,
            longest: false,
            reason: List::default(),
            scope: List::default(),
            of: None,
            bucket: List::default(),
            exhausted_beyond: None,
            rules: Vec::new(),
            dimensions: Vec::new(),
        }
    }

    /// Words from TOML, which are checked when they are built.
    ///
    /// # Errors
    ///
    /// [`InvalidDialect`] says where the text cannot be read, or which key it does not know.
    pub fn from_toml(text: &str) -> Result<Self, InvalidDialect> {
        toml::from_str(text).map_err(|error| InvalidDialect::new("", "", error.to_string().trim_end()))
    }

    /// One more rule. Rules are asked in order, and the standard dialect's come last.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// One more thing that the vendor counts.
    #[must_use]
    pub fn dimension(mut self, dimension: Dimension) -> Self {
        self.dimensions.push(dimension);
        self
    }

    /// Without the rules and dimensions of the standard dialect.
    #[must_use]
    pub fn without_standard(mut self) -> Self {
        self.standard = false;
        self
    }

    /// Looks into a stream of server-sent events as well, at its first event and no further (WHATWG HTML section 9.2).
    #[must_use]
    pub fn event_streams(mut self) -> Self {
        self.event_streams = true;
        self
    }

    /// One more place where a delay may stand, in order; the first above zero counts. A place that is the bare word
    /// `retry-after` stands for the standard headers, `dimension` for the reset of the exhausted dimension. Without any:
    /// `retry-after`, then `dimension`.
    #[must_use]
    pub fn delay(mut self, place: impl Into<Place>) -> Self {
        self.delay.get_or_insert_default().0.push(place.into());
        self
    }

    /// Of several delays the longest counts, rather than the first.
    #[must_use]
    pub fn longest(mut self) -> Self {
        self.longest = true;
        self
    }

    /// One more place where the reason of a limit may stand, for rules that say nothing of it.
    #[must_use]
    pub fn reason(mut self, place: impl Into<Place>) -> Self {
        self.reason.0.push(place.into());
        self
    }

    /// One more place where the name of what is limited may stand, for rules that say nothing of it. The name of an
    /// exhausted dimension comes first.
    #[must_use]
    pub fn scope(mut self, place: impl Into<Place>) -> Self {
        self.scope.0.push(place.into());
        self
    }

    /// How much of the family a limit is for, where a rule says nothing of it.
    #[must_use]
    pub fn of(mut self, scope: Scope) -> Self {
        self.of = Some(scope);
        self
    }

    /// One more place where the vendor names the bucket that a request counts in.
    #[must_use]
    pub fn bucket(mut self, place: impl Into<Place>) -> Self {
        self.bucket.0.push(place.into());
        self
    }

    /// A limit with a longer delay than this, such as `24h`, is `Exhausted`.
    #[must_use]
    pub fn exhausted_beyond(mut self, duration: impl Into<String>) -> Self {
        self.exhausted_beyond = Some(duration.into());
        self
    }

    /// Checks and compiles it.
    ///
    /// # Errors
    ///
    /// [`InvalidDialect`] names the key that is wrong, its value, and what is allowed.
    pub fn build(&self) -> Result<Dialect, InvalidDialect> {
        super::compile::compile(self).map(Dialect::shared)
    }
}
