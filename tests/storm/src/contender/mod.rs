//! The clients, each set up as a careful user would. Around all of them stands the call's deadline.

mod forbear;
mod ladder;
mod plain;
mod resilience;
mod sleeper;
mod tower;

use std::fmt;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use ::forbear::Families;
use ::tower::{Service, ServiceExt};
use bytes::Bytes;
use forbear_core::time::Monotonic;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use tokio::time::timeout;

use crate::model::Vendor;
use crate::wire::{HEALTHY, Wire};

/// What is sent.
pub type Body = Empty<Bytes>;
/// What is answered.
type Answer = Response<Full<Bytes>>;
/// Makes the call of a number; true where it was served in time.
pub type Client = Rc<dyn Fn(usize, Request<Body>) -> BoxFuture<'static, bool>>;

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// One attempt.
    Nothing,
    /// tower's `Retry` with exponential backoff and a retry budget.
    Tower,
    /// tower-resilience's retry around its circuit breaker.
    Resilience,
    /// Each call sleeps as it was told, and sends again.
    Sleeper,
    /// One ladder of cool-downs for the whole program.
    Ladder,
    /// `forbear::stack`.
    Forbear,
    /// Knows the vendor.
    Oracle,
}

/// Where a client stands: one process.
pub struct World {
    /// Its way to the vendors.
    pub wire: Wire,
    /// Its families; for forbear alone.
    pub families: Families,
    /// The time of each call.
    pub deadline: Duration,
    /// What is known of the vendor; for the oracle alone.
    pub vendor: fn() -> Box<dyn Vendor>,
    /// When the attempt of each call is to arrive, where that can be known before; for the oracle alone.
    pub schedule: Option<Rc<Vec<Option<Monotonic>>>>,
}

impl Contender {
    /// All, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Tower,
        Self::Resilience,
        Self::Sleeper,
        Self::Ladder,
        Self::Forbear,
        Self::Oracle,
    ];

    /// What the table calls it.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Nothing => "no retry",
            Self::Tower => "tower Retry, exponential",
            Self::Resilience => "tower-resilience retry + breaker",
            Self::Sleeper => "sleep `Retry-After` per request",
            Self::Ladder => "one ladder for all",
            Self::Forbear => "**forbear**",
            Self::Oracle => "oracle",
        }
    }

    /// Whether a sweep begins again from its first item when one fails.
    #[must_use]
    pub fn throws_a_pass_away(self) -> bool {
        self == Self::Ladder
    }

    /// The client of one process. What a careful user has once for each host, each of the two hosts has.
    #[must_use]
    pub fn client(self, world: &World) -> Client {
        match self {
            Self::Nothing => plain::nothing(world),
            Self::Tower => per_host(|| tower::client(world)),
            Self::Resilience => per_host(|| resilience::client(world)),
            Self::Sleeper => sleeper::client(world),
            Self::Ladder => ladder::client(world),
            Self::Forbear => forbear::client(world),
            Self::Oracle => plain::oracle(world),
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl FromStr for Contender {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|contender| contender.to_string() == name);
        found.ok_or_else(|| format!("no contender is called `{name}`"))
    }
}

/// One client for the vendor, one for the healthy host.
fn per_host(make: impl Fn() -> Client) -> Client {
    let (vendor, healthy) = (make(), make());
    Rc::new(move |call, request| {
        if request.uri().host() == Some(HEALTHY) { healthy(call, request) } else { vendor(call, request) }
    })
}

/// A clone of `service` is made ready and called for each call, within `deadline`.
fn around<S, B, F>(service: S, deadline: Duration) -> Client
where
    S: Service<Request<Body>, Response = Response<B>, Future = F> + Clone + Send + 'static,
    S::Error: Send,
    F: Future<Output = Result<Response<B>, S::Error>> + Send + 'static,
    B: Send + 'static,
{
    Rc::new(move |_, request| {
        let answer = timeout(deadline, service.clone().oneshot(request));
        Box::pin(async move {
            answer.await.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status().is_success()))
        })
    })
}

/// Whether an answer says to slow down.
fn is_limited(answer: &Answer) -> bool {
    matches!(answer.status().as_u16(), 429 | 503)
}

/// The seconds of its `Retry-After`.
fn retry_after(answer: &Answer) -> Option<Duration> {
    let value = answer.headers().get(http::header::RETRY_AFTER)?.to_str().ok()?;
    value.parse().ok().map(Duration::from_secs)
}
