use std::sync::Arc;

use forbear_core::families::InvalidFamilies;
use forbear_core::store::{CooldownStore, StoreError, StoreFault};

use super::{Families, FamiliesBuilder};
use crate::keeper::Keeper;

impl FamiliesBuilder {
    /// Keeps where families stand in a store, so that a restart in the middle of a cool-down stays cool, and an operator's pause
    /// is not forgotten. A background task writes what changes, some ten milliseconds after it does, and ends with the families; no call ever
    /// waits for it. Where the store is gone the families go on with what they know, and [health](Families::health) says so.
    ///
    /// [`build`](Self::build) has to be called inside a tokio runtime then. It waits for nothing: [`Families::loaded`] does.
    ///
    /// Kept are cool-down, level, learned pace, the last signal as health shows it, and pauses, of families, their parts and
    /// hosts. Not kept: counters, callers that wait, recorded deadlines of URLs, dead routes, and what pacing counts.
    ///
    /// ```
    /// # use forbear::{Families, Family, MemoryCooldowns, Operator};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = MemoryCooldowns::new();
    /// let search = || Family::new("search").host("search.example");
    /// let families = Families::builder().family(search()).store(store.clone()).build()?;
    /// families.pause("search", Operator::new("alice", "contract ended"))?;
    /// families.stored().await?; // from here on it survives this process, where its store does
    /// drop(families);
    ///
    /// let families = Families::builder().family(search()).store(store).build()?;
    /// families.loaded().await?;
    /// assert_eq!(families.health().to_string(), "search  paused  by alice: contract ended");
    /// # Ok(())
    /// # }
    /// ```
    pub fn store(self, store: impl CooldownStore + 'static) -> Self {
        Self { store: Some(Arc::new(store)), ..self }
    }

    /// Checks everything, and makes the families.
    ///
    /// # Errors
    /// [`InvalidFamilies`] names the family, the value that is wrong and what is allowed.
    pub fn build(self) -> Result<Families, InvalidFamilies> {
        let families = self.families.build()?;
        if let Some(store) = self.store {
            Keeper::begin(&families, store).map_err(InvalidFamilies::of_all)?;
        }
        Ok(Families(families))
    }
}

impl Families {
    /// Returns once the [store](FamiliesBuilder::store) has told what it held, and the families stand by it: how many of them and of their
    /// parts do. For a program that would rather begin a moment later than call a vendor that asked to be left alone; one
    /// that does not wait takes it up while it runs.
    ///
    /// **Cancellation.** It is loaded all the same.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not tell: it is asked again in the background, and this may be awaited again.
    pub async fn loaded(&self) -> Result<usize, StoreError> {
        self.keeper()?.loaded().await
    }

    /// Returns once all that changed until now is durable, and writes it at once. For the end of a program, after its server
    /// has ended; a cool-down that this has reported survives a crash.
    ///
    /// **Cancellation.** It is written all the same.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be written: that is tried again in the background, and this may be awaited again.
    pub async fn stored(&self) -> Result<(), StoreError> {
        self.keeper()?.stored().await
    }

    fn keeper(&self) -> Result<&Keeper, StoreError> {
        Keeper::of(&self.0).ok_or_else(|| StoreError::new(StoreFault::Missing, "keep cool-downs"))
    }
}
