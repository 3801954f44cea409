use std::marker::PhantomData;

use tower_layer::Layer;

use super::errors::{Boxed, Typed};
use super::service::RefusalResponseService;

/// Answers a server's callers where a vendor is not called, or says no. See the [module](super).
#[derive(Debug, Clone, Copy)]
pub struct RefusalResponseLayer<K = Typed> {
    pub(super) settings: Settings,
    kind: PhantomData<fn() -> K>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settings {
    pub(super) pass_on_limited: bool,
    pub(super) ends_handlers: bool,
}

impl RefusalResponseLayer {
    /// Translates refusals in errors, and limited answers.
    #[must_use]
    pub fn new() -> Self {
        Self { settings: Settings::default(), kind: PhantomData }
    }

    /// For services whose error is a [`BoxError`](crate::BoxError), or shall become one: those of tower's own layers.
    #[must_use]
    pub const fn boxed(self) -> RefusalResponseLayer<Boxed> {
        RefusalResponseLayer { settings: self.settings, kind: PhantomData }
    }
}

impl<K> RefusalResponseLayer<K> {
    /// Hands a vendor's limited answer on as it is, with `forbear-refusal: vendor` (translates it to `503`). For
    /// gateways whose callers know the vendor.
    #[must_use]
    pub const fn pass_on_limited(mut self) -> Self {
        self.settings.pass_on_limited = true;
        self
    }

    /// Ends a handler that is still at work at the deadline of the budget around this layer, with `504` (lets it go on).
    /// That is the inbound deadline where [`InboundBudgetLayer`](crate::InboundBudgetLayer) stands outside.
    #[must_use]
    pub const fn ends_handlers(mut self) -> Self {
        self.settings.ends_handlers = true;
        self
    }
}

impl Default for RefusalResponseLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S, K> Layer<S> for RefusalResponseLayer<K> {
    type Service = RefusalResponseService<S, K>;

    fn layer(&self, inner: S) -> RefusalResponseService<S, K> {
        RefusalResponseService::new(inner, self.settings)
    }
}
