use std::time::Duration;

use forbear_core::budget::Budget as Limits;
use forbear_core::time::Monotonic;
use http::{Extensions, HeaderMap, HeaderName};
use tower_layer::Layer;

use super::header::DeadlineHeader;
use super::service::InboundBudgetService;
use crate::budget::Budget;
use crate::grpc_timeout;

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Gives all outbound calls of a handler one budget: the inbound deadline. See the [module](super).
#[derive(Debug, Clone)]
pub struct InboundBudgetLayer {
    default: Option<Duration>,
    maximum: Option<Duration>,
    header: Option<DeadlineHeader>,
    grpc_timeout: bool,
}

impl InboundBudgetLayer {
    /// At most `total` for each inbound request, counted from its call; less where the caller asks for less.
    #[must_use]
    pub fn new(total: Duration) -> Self {
        Self { default: Some(total), ..Self::unlimited() }
    }

    /// As long as the caller says; where it says nothing, no budget.
    #[must_use]
    pub fn unlimited() -> Self {
        Self { default: None, maximum: None, header: Some(DeadlineHeader::default()), grpc_timeout: true }
    }

    /// The most that a caller may ask for. It may be more than the default, which then holds for those alone who ask for
    /// nothing.
    #[must_use]
    pub const fn maximum(mut self, maximum: Duration) -> Self {
        self.maximum = Some(maximum);
        self
    }

    /// Another header than `x-request-timeout-ms`.
    #[must_use]
    pub fn header(mut self, header: DeadlineHeader) -> Self {
        self.header = Some(header);
        self
    }

    /// Reads no header but `grpc-timeout`.
    #[must_use]
    pub fn no_header(mut self) -> Self {
        self.header = None;
        self
    }

    /// Leaves `grpc-timeout` unread.
    #[must_use]
    pub const fn no_grpc_timeout(mut self) -> Self {
        self.grpc_timeout = false;
        self
    }

    /// The budget of a request that came at `now`; [`Limits::UNLIMITED`] where nobody says any.
    pub(super) fn budget(&self, headers: &HeaderMap, extensions: &Extensions, now: Monotonic) -> Limits {
        let header = self
            .header
            .as_ref()
            .and_then(|header| shortest(headers, &header.name, |value| header.read(value)));
        let grpc = self.grpc_timeout.then(|| shortest(headers, &GRPC_TIMEOUT, grpc_timeout::read)).flatten();
        let asked = [header, grpc].into_iter().flatten().min();
        let most = self.maximum.or(self.default);
        let total = [asked.or(self.default), most].into_iter().flatten().min();
        let total = total.filter(|_| asked.is_some() || self.default.is_some());
        let carried = extensions.get::<Budget>().map_or(Limits::UNLIMITED, |budget| budget.0);
        Limits::new(total.map(|total| now.after(total)), None).and(carried)
    }
}

/// The shortest of what the lines of one header say.
fn shortest(
    headers: &HeaderMap,
    name: &HeaderName,
    read: impl Fn(&[u8]) -> Option<Duration>,
) -> Option<Duration> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| {
        let said = read(value.as_bytes());
        if said.is_none() {
            tracing::debug!(header = name.as_str(), "an inbound deadline is not understood, and left out");
        }
        said
    });
    lines.min()
}

impl<S> Layer<S> for InboundBudgetLayer {
    type Service = InboundBudgetService<S>;

    fn layer(&self, inner: S) -> InboundBudgetService<S> {
        InboundBudgetService::new(inner, self.clone())
    }
}
