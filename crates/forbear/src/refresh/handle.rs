use std::fmt;
use std::sync::Arc;

use forbear_core::store::{Kept, Rows, WorkStore};
use forbear_core::work::{DemandReason, Demanded, Invalidated, Key, Retried, Row, Undemanded};

use super::builder::RefreshBuilder;
use super::error::NotTaken;
use super::shared::Shared;
use crate::{Families, Vendor, clock};

/// Background work that is keyed by (source, key), due at some time, and gentle to vendors. See the [module](super).
/// Clones share everything.
#[derive(Clone)]
pub struct Refresh(pub(super) Arc<Shared>);

/// So many keys go into one call of the store.
const AT_ONCE: usize = 1_000;
/// Why a key is demanded where nothing else is said.
const DEMANDED: &str = "demand";

impl Refresh {
    /// Begins a refresh whose HTTP sources are fetched through `vendor`, and whose work is kept in `store`, such as a
    /// [`MemoryWorkStore`](super::MemoryWorkStore). A store that is shared goes in as an `Arc`.
    pub fn builder<C>(vendor: Vendor<C>, store: impl WorkStore) -> RefreshBuilder<Vendor<C>> {
        RefreshBuilder::new(vendor.families(), vendor, Arc::new(store))
    }

    /// The same over any other service with forbear's layers in it, and the families that its gate asks. Where no source is
    /// HTTP, `()` does for a service.
    pub fn over<V>(families: &Families, service: V, store: impl WorkStore) -> RefreshBuilder<V> {
        RefreshBuilder::new(families.clone(), service, Arc::new(store))
    }

    /// `keys` of a source are wanted: from now on they are refreshed, at once for the first time. A key that is demanded
    /// already is not demanded twice; while it runs, it runs once more after that; where it has failed or stalled, it is tried
    /// anew.
    ///
    /// # Errors
    /// [`NotTaken`] where no source has this name, a key cannot be one, or the store does not take them.
    ///
    /// **Cancellation.** Dropped, all of the keys may be demanded, some, or none: a thousand go into one call of the store, so that
    /// those of others need not wait for a million. After an error too; asking again does no harm.
    pub async fn demand<K: AsRef<str>>(
        &self,
        source: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Demanded>, NotTaken> {
        self.demand_for(DEMANDED, source, keys).await
    }

    /// The same for a reason of its own: a key is wanted until the last of its reasons is gone, so that a watchlist and a
    /// holding can both want it.
    ///
    /// # Errors
    /// As [`Refresh::demand`]; also where a reason cannot be one.
    pub async fn demand_for<K: AsRef<str>>(
        &self,
        reason: &str,
        source: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Demanded>, NotTaken> {
        let (at, keys, reason) = (self.find(source)?, named(keys)?, DemandReason::new(reason)?);
        let shared = &self.0;
        let mut did = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            let demanded = shared
                .store
                .demand(&shared.names[at], some, &reason, clock::stamp())
                .await
                .map_err(|error| shared.not_taken(error))?;
            if demanded.iter().any(|did| matches!(did, Demanded::New | Demanded::Revived(_))) {
                shared.told.look_at(at);
            }
            did.extend(demanded);
        }
        match did.iter().filter(|did| **did == Demanded::Full).count() {
            0 => Ok(did),
            full => Err(NotTaken::NoRoom(full)),
        }
    }

    /// `keys` of a source are not wanted any more. One that runs ends with its run.
    ///
    /// # Errors
    /// As [`Refresh::demand`].
    pub async fn undemand<K: AsRef<str>>(
        &self,
        source: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Undemanded>, NotTaken> {
        self.undemand_for(DEMANDED, source, keys).await
    }

    /// The same for the reason that they were demanded for: where others are left, they are still refreshed.
    ///
    /// # Errors
    /// As [`Refresh::demand`].
    pub async fn undemand_for<K: AsRef<str>>(
        &self,
        reason: &str,
        source: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Undemanded>, NotTaken> {
        let (at, keys, reason) = (self.find(source)?, named(keys)?, DemandReason::new(reason)?);
        let mut did = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            did.extend(
                self.0
                    .store
                    .undemand(&self.0.names[at], some, &reason)
                    .await
                    .map_err(|error| self.0.not_taken(error))?,
            );
        }
        Ok(did)
    }

    /// What is stored for `keys` is known to be old: they are due as soon as the source's [gap](super::Source::gap) allows,
    /// and where one runs, once more after that.
    ///
    /// # Errors
    /// As [`Refresh::demand`].
    pub async fn invalidate<K: AsRef<str>>(
        &self,
        source: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Invalidated>, NotTaken> {
        let (at, keys) = (self.find(source)?, named(keys)?);
        let shared = &self.0;
        let mut did = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            did.extend(
                shared
                    .store
                    .invalidate(&shared.names[at], some, clock::stamp())
                    .await
                    .map_err(|error| shared.not_taken(error))?,
            );
            shared.told.look_at(at);
        }
        Ok(did)
    }

    /// Tries `keys` now, by hand: those that have failed or stalled, and those that wait after a failure. No attempt is
    /// counted any more.
    ///
    /// # Errors
    /// As [`Refresh::demand`].
    pub async fn retry<K: AsRef<str>>(
        &self,
        source: &str,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Retried>, NotTaken> {
        let (at, keys) = (self.find(source)?, named(keys)?);
        let shared = &self.0;
        let mut did = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            did.extend(
                shared
                    .store
                    .retry(&shared.names[at], some, clock::stamp())
                    .await
                    .map_err(|error| shared.not_taken(error))?,
            );
            shared.told.look_at(at);
        }
        Ok(did)
    }

    /// Where a key stands; `None` where nobody demands it.
    ///
    /// # Errors
    /// As [`Refresh::demand`].
    pub async fn row(&self, source: &str, key: &str) -> Result<Option<Row>, NotTaken> {
        let (at, key) = (self.find(source)?, Key::new(key)?);
        self.0.store.row(&self.0.names[at], &key).await.map_err(|error| self.0.not_taken(error))
    }

    /// Keys of a source in their order, a page of them: all, or those that have failed or stalled.
    ///
    /// # Errors
    /// As [`Refresh::demand`].
    pub async fn rows(&self, source: &str, page: &Rows) -> Result<Vec<Kept>, NotTaken> {
        let at = self.find(source)?;
        self.0.store.rows(&self.0.names[at], page).await.map_err(|error| self.0.not_taken(error))
    }

    #[cfg(feature = "stale")]
    pub(crate) fn family_of(&self, source: &str) -> Option<Arc<str>> {
        self.0.family_of(source)
    }

    fn find(&self, source: &str) -> Result<usize, NotTaken> {
        self.0.find(source).ok_or_else(|| NotTaken::UnknownSource(source.into()))
    }
}

impl fmt::Debug for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refresh").field(&self.0).finish()
    }
}

fn named<K: AsRef<str>>(keys: impl IntoIterator<Item = K>) -> Result<Vec<Key>, NotTaken> {
    Ok(keys.into_iter().map(Key::new).collect::<Result<_, _>>()?)
}
