//! What a request or a response carries for forbear.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Gate, GrantId};
use forbear_core::partition::Partition;
use forbear_core::signal::Signal as Said;
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use http::{Response, Uri};

use crate::clock;

/// Request extension: never park this request for a cool-down. A limited answer is returned, a refusal too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NoWait;

/// Request extension: never queue this one to be paced. Where it would have to wait for its turn it is refused
/// ([`PacingCause::NoQueue`](crate::PacingCause::NoQueue)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NoQueue;

/// Request extension: what an attempt costs, in the unit that its family's [`Pacing`](crate::Pacing) counts, such as
/// tokens (1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cost(pub u32);

/// Response extension: the URL that answered, where a client follows redirects itself. The answer is charged to its
/// family, and recorded under it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EffectiveUri(pub Uri);

impl fmt::Debug for EffectiveUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EffectiveUri").field(&RedactedUrl::of(&self.0)).finish()
    }
}

/// Response extension: what a limited response says, and when its family is called again. Set by
/// [`FamilyCooldownLayer`](crate::FamilyCooldownLayer).
#[derive(Debug, Clone)]
pub struct Signal {
    pub(crate) said: Arc<Said>,
    pub(crate) retry_at: Option<Monotonic>,
    pub(crate) gate: Option<Arc<Gate>>,
}

impl Signal {
    /// The family it was charged to; `None` where it belongs to none.
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        self.gate.as_ref().map(|gate| &**gate.name())
    }

    /// The part of the family that it closed, as health names it; `None` where it closed the whole.
    #[must_use]
    pub fn partition(&self) -> Option<&str> {
        self.gate.as_ref().and_then(|gate| gate.partition_label())
    }

    /// How long from now until the family is called again; `None` where the signal closed nothing.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.retry_at.map(|at| at.since(clock::now()))
    }
}

/// Status and reason, `429 inflight_limit`.
impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.said.fmt(f)
    }
}

impl Deref for Signal {
    type Target = Said;

    fn deref(&self) -> &Said {
        &self.said
    }
}

/// Response extension: the gate looked at it, and it is no signal in its vendor's dialect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoSignal;

/// Response extension: the URL that was asked, and the partition, kept by the gate for the layer that records its
/// deadline.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) uri: Uri,
    pub(crate) partition: Option<Partition>,
}

/// Response extension: met in shadow mode, so nothing is waited for, sent again or recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shadowed;

/// Request extension: a logical request that comes back from a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) entered: Monotonic,
    pub(crate) grant: Option<GrantId>,
    /// Whether it was sent before, and its answer was limited.
    pub(crate) sent: bool,
}

/// The URL that was asked, where a gate kept it.
pub(crate) fn asked<B>(response: &Response<B>) -> Option<&Asked> {
    response.extensions().get::<Asked>()
}

/// The URL that answered, where it is known to differ from the one that was asked.
#[inline]
pub(crate) fn effective_uri<B>(response: &Response<B>) -> Option<&Uri> {
    let extensions = response.extensions();
    let ours = extensions.get::<EffectiveUri>().map(|uri| &uri.0);
    #[cfg(feature = "tower-http")]
    let ours = ours.or_else(|| extensions.get::<tower_http::follow_redirect::RequestUri>().map(|uri| &uri.0));
    ours
}
