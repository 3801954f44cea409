use std::convert::Infallible;
use std::time::Duration;

use axum_core::extract::FromRequestParts;
use http::request::Parts;
use tokio::time::Instant;

use crate::budget::{self, Budget};

/// An extractor: the budget that the handler's outbound calls share. Empty where nobody set any.
///
/// Calls from the handler itself need nothing. Those of a task that it spawns take it along:
///
/// ```
/// use forbear::axum::InboundBudget;
///
/// async fn handler(inbound: InboundBudget) {
///     tokio::spawn(async move {
///         let mut request = http::Request::new(());
///         if let Some(budget) = inbound.budget() {
///             request.extensions_mut().insert(budget);
///         }
///         // … vendor.send(request)
///     });
/// }
/// # let _ = axum::routing::get::<_, _, ()>(handler);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboundBudget(Option<Budget>);

impl InboundBudget {
    /// The budget, as a request extension for what runs elsewhere.
    #[must_use]
    pub const fn budget(&self) -> Option<Budget> {
        self.0
    }

    /// When it ends.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.as_ref().and_then(Budget::deadline)
    }

    /// What is left of it now; zero where it is over.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.0.as_ref().map(Budget::remaining)
    }
}

impl<S: Sync> FromRequestParts<S> for InboundBudget {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let limits = budget::effective(&parts.extensions);
        Ok(Self(limits.deadline().map(|_| Budget(limits))))
    }
}
