use std::sync::Arc;

use forbear_core::families::{self as core, Family, InvalidFamilies, Unknown};
use forbear_core::health::Health;
use forbear_core::store::CooldownStore;

use crate::keeper::Keeper;
use crate::{clock, events};

mod changes;
mod listen;
#[cfg(feature = "metrics")]
mod metrics;
mod operator;
mod shutdown;
mod store;

pub use changes::Changes;
pub use listen::Strike;
#[cfg(feature = "metrics")]
pub use metrics::Metrics;

/// The families of a program and where they stand. Clones share everything.
#[derive(Debug, Clone)]
pub struct Families(pub(crate) core::Families);

/// Collects families. See [`Families::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "call `build` to get the families"]
pub struct FamiliesBuilder {
    families: core::FamiliesBuilder,
    store: Option<Arc<dyn CooldownStore>>,
}

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

    /// Adds a family while traffic flows. Where one of its hosts, by whatever it has it, cools as an automatic family, it
    /// begins with that cool-down.
    ///
    /// ```
    /// # use forbear::{Families, Family};
    /// let families = Families::builder().build()?;
    /// families.register(Family::new("github").host("api.github.com"))?;
    /// assert!(families.register(Family::new("other").host("api.github.com")).is_err());
    /// # Ok::<(), forbear::InvalidFamilies>(())
    /// ```
    ///
    /// # Errors
    /// As [`FamiliesBuilder::build`]; also where a family of this name is there already. Then nothing changes.
    pub fn register(&self, family: Family) -> Result<(), InvalidFamilies> {
        self.0.register(family, clock::now())?;
        self.look_again();
        Ok(())
    }

    /// Gives the family of this name other hosts, settings or another dialect. Where it stands it keeps standing: a
    /// cool-down goes on, and callers that wait go on waiting.
    ///
    /// # Errors
    /// As [`FamiliesBuilder::build`]; also where no family has this name. Then nothing changes.
    pub fn replace(&self, family: Family) -> Result<(), InvalidFamilies> {
        self.0.replace(family, clock::now())?;
        self.look_again();
        Ok(())
    }

    /// Removes a family: from now on its hosts are unknown. Callers that wait for it go on waiting, and then meet what
    /// holds for unknown hosts. Where that is [`Unknown::PerHost`], its hosts keep its cool-down as automatic families.
    ///
    /// # Errors
    /// Where no family has this name, or a URL that is [required](FamiliesBuilder::requires) would have none. Then
    /// nothing changes.
    pub fn remove(&self, name: &str) -> Result<(), InvalidFamilies> {
        self.0.remove(name, clock::now())
    }

    /// Registers, replaces and removes at once, as after a configuration was read again: these are the families from
    /// now on. One whose name stays keeps where it stands; where a name is gone, its cool-down goes to the families that
    /// have its hosts, suffixes or routes now.
    ///
    /// # Errors
    /// As [`FamiliesBuilder::build`]. Then nothing changes.
    pub fn set(&self, families: impl IntoIterator<Item = Family>) -> Result<(), InvalidFamilies> {
        self.0.set(families, clock::now())?;
        self.look_again();
        Ok(())
    }

    /// Where all families stand now.
    #[must_use]
    pub fn health(&self) -> Health {
        let (mut health, news) = Health::of(&self.0, clock::now());
        health.stores.extend(Keeper::of(&self.0).map(Keeper::health));
        for (gate, event) in news {
            events::emit(&gate, &[event]);
        }
        health
    }

    /// There may be families that the store knows of.
    fn look_again(&self) {
        if let Some(keeper) = Keeper::of(&self.0) {
            keeper.look_again();
        }
    }
}

impl FamiliesBuilder {
    /// Adds a family.
    pub fn family(self, family: Family) -> Self {
        Self { families: self.families.family(family), ..self }
    }

    /// Adds a vendor that is [known](crate::presets), under its own name, with its hosts and its dialect.
    ///
    /// ```
    /// use forbear::{Families, presets};
    ///
    /// let families = Families::builder().preset(presets::github()).preset(presets::openai()).build()?;
    /// # Ok::<_, forbear::InvalidFamilies>(())
    /// ```
    pub fn preset(self, preset: crate::presets::Preset) -> Self {
        Self { families: self.families.preset(preset), ..self }
    }

    /// What happens to requests whose host no family has ([`Unknown::PerHost`]).
    pub fn unknown(self, unknown: Unknown) -> Self {
        Self { families: self.families.unknown(unknown), ..self }
    }

    /// A URL that the program calls, and that must belong to a registered family: checked by [`FamiliesBuilder::build`],
    /// and whenever families change later. With [`Unknown::Refuse`] this finds at start-up what would be refused at run
    /// time.
    ///
    /// ```
    /// use forbear::{Families, Family, Unknown};
    ///
    /// let strict = Families::builder()
    ///     .family(Family::new("github").host("api.github.com"))
    ///     .unknown(Unknown::Refuse)
    ///     .requires("https://api.gitlab.com/v4")
    ///     .build();
    /// assert_eq!(
    ///     strict.unwrap_err().to_string(),
    ///     "required URL https://api.gitlab.com/v4 belongs to no family; give its host to one"
    /// );
    /// ```
    pub fn requires(self, url: impl Into<String>) -> Self {
        Self { families: self.families.requires(url), ..self }
    }
}
