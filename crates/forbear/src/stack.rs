use std::num::NonZeroU32;
use std::time::Duration;

use tower_layer::Layer;

use crate::{
    BudgetLayer, BudgetService, Families, FamilyCooldownLayer, FamilyCooldownService, PacingLayer,
    PacingService, RetryAfterLayer, RetryAfterService, Vendor,
};
#[cfg(feature = "stale")]
use crate::{StaleLayer, StaleService};

/// All layers around a client `S`, in the documented order.
pub type Stacked<S> = BudgetService<RetryAfterService<PacingService<FamilyCooldownService<S>>>>;

/// Composes the layers in the documented order: budget, then waiting, then the pacing and the gate of
/// `families`, then the client.
///
/// ```
/// # use std::time::Duration;
/// use forbear::{Families, Family, body::Replay};
/// # type Body = http_body_util::Empty<bytes::Bytes>;
/// # async fn client(_: http::Request<Replay<Body>>) -> Result<http::Response<Body>, std::io::Error> { Ok(http::Response::default()) }
///
/// # let _ = async || {
/// let families = Families::builder().family(Family::new("github").host("api.github.com")).build()?;
/// let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).service(tower::service_fn(client));
/// let response = vendor.send(http::Request::get("https://api.github.com/zen").body(Body::new())?).await?;
/// # let _ = response;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// # };
/// ```
pub fn stack(families: &Families) -> Stack {
    Stack {
        #[cfg(feature = "stale")]
        families: families.clone(),
        budget: BudgetLayer::unlimited(),
        retry_after: RetryAfterLayer::new(),
        pacing: PacingLayer::new(families.clone()),
        cooldown: FamilyCooldownLayer::new(families.clone()),
    }
}

/// The layers in the documented order; a [`Layer`](https://docs.rs/tower-layer/0.3/tower_layer/trait.Layer.html) itself. See [`stack`].
#[derive(Debug, Clone)]
#[must_use = "a stack does nothing until it is put around a client with `service` or `layer`"]
pub struct Stack {
    #[cfg(feature = "stale")]
    families: Families,
    budget: BudgetLayer,
    retry_after: RetryAfterLayer,
    pacing: PacingLayer,
    cooldown: FamilyCooldownLayer,
}

impl Stack {
    /// The total time of each logical request. Without it a request waits at most 60 s for its vendor, and each
    /// attempt as long as the client lets it.
    pub fn budget(mut self, total: Duration) -> Self {
        self.budget = self.budget.total(total);
        self
    }

    /// At most `most` attempts for each logical request (no limit).
    pub fn attempts(mut self, most: NonZeroU32) -> Self {
        self.budget = self.budget.attempts(most);
        self
    }

    /// How much longer the attempt that is in flight at the end of the budget may take (0 s).
    pub fn grace(mut self, grace: Duration) -> Self {
        self.budget = self.budget.grace(grace);
        self
    }

    /// Another way to wait than [`RetryAfterLayer::new`].
    pub fn retry_after(mut self, layer: RetryAfterLayer) -> Self {
        self.retry_after = layer;
        self
    }

    /// What each request costs where its family is paced, see [`PacingLayer::cost_of`].
    pub fn cost_of(mut self, cost_of: fn(&http::request::Parts) -> u32) -> Self {
        self.pacing = self.pacing.cost_of(cost_of);
        self
    }

    /// Serves a good old answer rather than none, around all of it. Who waits for an answer that somebody else has asked for waits for
    /// as long as the budget.
    ///
    /// ```
    /// # use std::time::Duration;
    /// use forbear::{Families, StaleLayer, body::Replay};
    /// # type Body = http_body_util::Empty<bytes::Bytes>;
    /// # async fn client(_: http::Request<Replay<Body>>) -> Result<http::Response<Body>, std::io::Error> { Ok(http::Response::default()) }
    ///
    /// # let _ = async || {
    /// # let families = Families::builder().build()?;
    /// let stale = StaleLayer::memory(64 << 20);
    /// let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).stale(stale).service(tower::service_fn(client));
    /// let response = vendor.send(http::Request::get("https://api.github.com/zen").body(Body::new())?).await?;
    /// println!("{:?}", response.extensions().get::<forbear::stale::Served>());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// # };
    /// ```
    #[cfg(feature = "stale")]
    pub fn stale(self, layer: StaleLayer) -> StaleStack {
        // The attempt's own error, which tells more, comes first.
        let longest = self.budget.longest().map(|longest| longest.saturating_add(TIE));
        let layer = layer.families_or(&self.families);
        StaleStack { stale: longest.map_or(layer.clone(), |longest| layer.budget(longest)), stack: self }
    }

    /// Puts the layers around `client`.
    pub fn service<S>(&self, client: S) -> Vendor<S> {
        Vendor::new(self.layer(client))
    }
}

impl Stack {
    /// The layers around a client that is known to hold none: to look for them takes longer than a call of them all.
    pub(crate) fn around<S>(&self, client: S) -> Stacked<S> {
        self.budget.around(self.retry_after.around(self.pacing.around(self.cooldown.around(client))))
    }
}

/// Who waits for an attempt goes so much later than its budget lets it.
#[cfg(feature = "stale")]
const TIE: Duration = Duration::from_millis(2);

/// A [`Stack`] with a [`StaleLayer`] around it.
#[cfg(feature = "stale")]
#[derive(Debug, Clone)]
#[must_use = "a stack does nothing until it is put around a client with `service` or `layer`"]
pub struct StaleStack {
    stale: StaleLayer,
    stack: Stack,
}

#[cfg(feature = "stale")]
impl StaleStack {
    /// Puts the layers around `client`.
    pub fn service<S>(&self, client: S) -> StaleService<Vendor<S>> {
        self.layer(client)
    }
}

#[cfg(feature = "stale")]
impl<S> Layer<S> for StaleStack {
    type Service = StaleService<Vendor<S>>;

    fn layer(&self, client: S) -> StaleService<Vendor<S>> {
        self.stale.layer(self.stack.service(client))
    }
}

impl<S> Layer<S> for Stack {
    type Service = Stacked<S>;

    fn layer(&self, client: S) -> Stacked<S> {
        BudgetLayer::look::<S>();
        RetryAfterLayer::look::<S>();
        PacingLayer::look::<S>();
        FamilyCooldownLayer::look::<S>();
        self.around(client)
    }
}
