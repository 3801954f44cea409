use std::sync::Arc;
use std::time::Duration;

use tower_layer::Layer;

use super::flight::Flights;
use super::key::Keys;
use super::policy::StalePolicy;
use super::service::StaleService;
use super::shared::Shared;
use super::store::Store;
use crate::clock;

/// Serves a good old answer rather than none. See the [module](super).
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct StaleLayer {
    bytes: u64,
    policy: StalePolicy,
    is_shared: bool,
    max_entry: usize,
    budget: Option<Duration>,
}

impl StaleLayer {
    /// Keeps answers in memory, about so many bytes of them, with all that they cost.
    pub const fn memory(bytes: u64) -> Self {
        Self { bytes, policy: StalePolicy::new(), is_shared: false, max_entry: 1024 * 1024, budget: None }
    }

    /// What is stored, and how long it is served.
    pub fn policy(mut self, policy: StalePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// As a cache that several users share, such as a gateway's (RFC 9111): what is `private` is not stored, what was asked for with
    /// `Authorization` only where the vendor allows it, and `s-maxage` holds. Even so nobody is served what was given to other credentials.
    pub const fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Of a body larger than this nothing is stored (1 MiB).
    pub const fn max_entry(mut self, bytes: usize) -> Self {
        self.max_entry = bytes;
        self
    }

    /// The longest that a caller waits for an answer, its own or one that somebody else has asked for (its budget alone). `forbear::stack` sets it
    /// to the stack's.
    pub const fn budget(mut self, total: Duration) -> Self {
        self.budget = Some(total);
        self
    }
}

impl<S> Layer<S> for StaleLayer {
    type Service = StaleService<S>;

    /// Each service made has a store of its own, which its clones share.
    fn layer(&self, inner: S) -> StaleService<S> {
        if self.policy.no_store {
            tracing::warn!("answers that their vendor marks no-store are stored, as the policy says");
        }
        StaleService::new(
            inner,
            Arc::new(Shared {
                store: Store::memory(self.bytes),
                flights: Arc::new(Flights::default()),
                keys: Keys::default(),
                policy: self.policy.clone(),
                is_shared: self.is_shared,
                max_entry: self.max_entry,
                budget: self.budget,
                anchor: (clock::wall(), clock::now()),
            }),
        )
    }
}
