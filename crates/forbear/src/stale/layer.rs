use std::sync::Arc;
use std::time::Duration;

use forbear_core::stale::StalePolicy;
use forbear_core::store::{ResponseSecret, ResponseStore};
use tower_layer::Layer;

use super::durable::Durable;
use super::flight::Flights;
use super::key::Keys;
use super::room::Room;
use super::service::StaleService;
use super::shared::{Shared, longest};
use super::store::Store;
use super::wall::Wall;
use crate::Families;
use crate::order::Mistake;

/// Serves a good old answer rather than none. See the [module](super).
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct StaleLayer {
    bytes: u64,
    policy: StalePolicy,
    families: Option<Families>,
    is_shared: bool,
    max_entry: usize,
    budget: Option<Duration>,
    store: Option<Arc<dyn ResponseStore>>,
}

impl StaleLayer {
    /// Keeps answers in memory, about so many bytes of them, with all that they cost.
    pub const fn memory(bytes: u64) -> Self {
        Self {
            bytes,
            policy: StalePolicy::new(),
            families: None,
            is_shared: false,
            max_entry: 1024 * 1024,
            budget: None,
            store: None,
        }
    }

    /// What is stored, and how long it is served, of all that have no policy of their own: of hosts without a family, and of
    /// families without [`Family::stale`](crate::Family::stale).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use forbear::stale::{Fallback, StalePolicy};
    /// use forbear::{Families, Family, StaleLayer};
    ///
    /// let quotes = StalePolicy::new().max_stale(Duration::from_secs(3600)).fallback(Fallback::json("[]"));
    /// let families = Families::builder()
    ///     .family(Family::new("quotes").host("quotes.example").stale(quotes))
    ///     .family(Family::new("news").host("news.example"))
    ///     .build()?;
    /// // Of quotes for an hour, of all others for a day.
    /// let stale = StaleLayer::memory(64 << 20).policy(StalePolicy::new().max_stale(Duration::from_secs(86_400)));
    /// let stack = forbear::stack(&families).stale(stale); // which tells the layer of the families
    /// # let _ = stack;
    /// # Ok::<(), forbear::InvalidFamilies>(())
    /// ```
    pub fn policy(mut self, policy: StalePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Whose answers they are: then the policies of these families hold, with whatever changes in them later, and what is served is counted for
    /// each (nobody's; one policy for all). `forbear::stack` sets it to the stack's.
    pub fn families(mut self, families: &Families) -> Self {
        self.families = Some(families.clone());
        self
    }

    /// The same, where nobody said whose.
    #[cfg(all(feature = "budget", feature = "retry-after", feature = "pacing", feature = "cooldown"))]
    pub(crate) fn families_or(mut self, families: &Families) -> Self {
        self.families.get_or_insert_with(|| families.clone());
        self
    }

    /// Keeps answers in this store too, so that the next process has them, and what memory has no room for (none). Memory is looked at first. What it does not
    /// have is read once for all who ask for it, in at most 50 ms, or a second behind others that it answers; what is stored is written in the background, and no request waits for that.
    /// A store that fails, or does not answer, is asked less and less often, and what is in memory is served on.
    ///
    /// What a vendor marks `no-store` is kept in memory alone, whatever the policy says.
    ///
    /// ```
    /// use forbear::StaleLayer;
    /// use forbear_core::store::MemoryResponses; // or `SqliteStore` of forbear-sqlite
    ///
    /// let stale = StaleLayer::memory(64 << 20).store(MemoryResponses::new(1 << 30));
    /// # let _ = stale;
    /// ```
    pub fn store(mut self, store: impl ResponseStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// As a cache that several users share, such as a gateway's (RFC 9111): what is `private` is not stored, what was asked for with
    /// `Authorization` only where the vendor allows it, and `s-maxage` holds. Even so nobody is served what was given to other credentials.
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Of a body larger than this nothing is stored (1 MiB).
    pub fn max_entry(mut self, bytes: usize) -> Self {
        self.max_entry = bytes;
        self
    }

    /// The longest that a caller waits for an answer, its own or one that somebody else has asked for (its budget alone). `forbear::stack` sets it
    /// to the stack's.
    pub fn budget(mut self, total: Duration) -> Self {
        self.budget = Some(total);
        self
    }
}

impl<S> Layer<S> for StaleLayer {
    type Service = StaleService<S>;

    /// Each service made has a memory of its own, which its clones share; a store is the same for all.
    fn layer(&self, inner: S) -> StaleService<S> {
        Mistake::look_below_stale::<S>();
        let wall = Wall::new();
        let durable = self.store.as_ref().map(|store| Durable::new(Arc::clone(store), wall.clone()));
        let secret = durable.as_ref().map_or_else(ResponseSecret::random, Durable::secret);
        StaleService::new(
            inner,
            Arc::new(Shared {
                store: Store::new(self.bytes, durable),
                flights: Arc::new(Flights::new(longest(self.budget))),
                keys: Keys::new(secret),
                policy: Arc::new(self.policy.clone()),
                counts: Arc::default(),
                is_shared: self.is_shared,
                max_entry: self.max_entry,
                room: Room::new(self.bytes.saturating_add(self.max_entry as u64)),
                budget: self.budget,
                wall,
            }),
            self.families.as_ref().map(|families| families.0.snapshot()),
        )
    }
}
