use forbear_core::families::{self as core, Family, InvalidFamilies, Unknown};
use forbear_core::health::Health;

use crate::{clock, events};

/// The families of a program and where they stand. Clones share everything.
#[derive(Debug, Clone)]
pub struct Families(pub(crate) core::Families);

/// Collects families. See [`Families::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "call `build` to get the families"]
pub struct FamiliesBuilder(core::FamiliesBuilder);

impl Families {
    /// Begins a set of families.
    ///
    /// ```
    /// use forbear::{Families, Family, Unknown};
    ///
    /// let families = Families::builder()
    ///     .family(Family::new("yahoo").host("query1.finance.yahoo.com").host("query2.finance.yahoo.com"))
    ///     .unknown(Unknown::PerHost)
    ///     .build()?;
    /// assert_eq!(families.health().to_string(), "yahoo  open");
    /// # Ok::<(), forbear::InvalidFamilies>(())
    /// ```
    pub fn builder() -> FamiliesBuilder {
        FamiliesBuilder::default()
    }

    /// Where all families stand now.
    #[must_use]
    pub fn health(&self) -> Health {
        let (health, news) = Health::of(&self.0, clock::now());
        for (family, event) in news {
            events::emit(&family, &[event]);
        }
        health
    }
}

impl FamiliesBuilder {
    /// Adds a family.
    pub fn family(self, family: Family) -> Self {
        Self(self.0.family(family))
    }

    /// What happens to requests whose host no family has ([`Unknown::PerHost`]).
    pub fn unknown(self, unknown: Unknown) -> Self {
        Self(self.0.unknown(unknown))
    }

    /// Checks everything, and makes the families.
    ///
    /// # Errors
    /// [`InvalidFamilies`] names the family, the value that is wrong and what is allowed.
    pub fn build(self) -> Result<Families, InvalidFamilies> {
        self.0.build().map(Families)
    }
}
