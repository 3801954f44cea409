use serde::Deserialize;

use super::list::List;
use super::place::Place;
use crate::signal::hint::Form;

/// One thing that a vendor counts, such as requests or tokens, and the headers that tell of it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Dimension {
    pub(crate) remaining: Option<String>,
    pub(crate) limit: Option<String>,
    pub(crate) reset: Option<String>,
    pub(crate) unit: Option<Form>,
    pub(crate) policy: Option<String>,
    pub(crate) name: List<Place>,
    pub(crate) header: Option<String>,
    pub(crate) reader: Option<Reader>,
}

/// How one header tells of dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reader {
    /// A structured field: a list of policies with `r` and `t` (draft-ietf-httpapi-ratelimit-headers, from -08 on), or the
    /// dictionary of the drafts before.
    RateLimit,
    /// `39/40`: used, of how many.
    UsedOfLimit,
    /// `total=100; remaining=0; resets=41`; the part of the header's name that `{}` stands for is the dimension's name.
    Pairs,
    /// `60:error;transaction:project:reason`, a list of what is closed: Sentry's.
    Sentry,
    /// JSON by account, with the minutes until access is regained: Meta's.
    MetaUsage,
    /// No header: a GraphQL cost in the body, what was asked, what is there, and what comes back a second: Shopify's.
    ShopifyCost,
}

impl Dimension {
    /// A dimension with this header for what remains. `{}` in the names of its headers stands for the dimension's name, and
    /// there is one for every header that fits: `x-ratelimit-remaining-{}`. What remains may be a decimal, and may have
    /// parameters behind a `;`, or its name before one. Folded lines are paired by their place in the list.
    #[must_use]
    pub fn remaining(header: impl Into<String>) -> Self {
        Self { remaining: Some(header.into()), ..Self::default() }
    }

    /// Dimensions told of by one header.
    #[must_use]
    pub fn read_by(reader: Reader, header: impl Into<String>) -> Self {
        Self { reader: Some(reader), header: Some(header.into()), ..Self::default() }
    }

    /// The header with the reset, and its unit ([`Form::Reset`]).
    #[must_use]
    pub fn reset(mut self, header: impl Into<String>, unit: Form) -> Self {
        self.reset = Some(header.into());
        self.unit = Some(unit);
        self
    }

    /// The header with the limit.
    #[must_use]
    pub fn limit(mut self, header: impl Into<String>) -> Self {
        self.limit = Some(header.into());
        self
    }

    /// The header whose elements name the elements of the others.
    #[must_use]
    pub fn policy(mut self, header: impl Into<String>) -> Self {
        self.policy = Some(header.into());
        self
    }

    /// One more place where its name may stand.
    #[must_use]
    pub fn name(mut self, place: impl Into<Place>) -> Self {
        self.name.0.push(place.into());
        self
    }
}
