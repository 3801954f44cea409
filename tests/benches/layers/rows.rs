//! What is measured: one row of the table each.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::time::Duration;

use forbear::dialect::Dialect;
use forbear::{BudgetLayer, Families, Family, FamilyCooldownLayer, Pacing, PacingLayer, RetryAfterLayer};
use forbear_benches::Call;
use http::{Request, Response};
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::retry::{Policy, RetryLayer};
use tower::timeout::TimeoutLayer;
use tower::{BoxError, Layer, Service};
use tower_resilience::circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer};
use tower_resilience::retry::RetryLayer as ResilientRetryLayer;
use tower_resilience::timelimiter::{TimeLimiterError, TimeLimiterLayer};

use crate::bare::{Bare, Counter, Locked, Nothing};
use crate::client::{Body, Client, Load, host_name};

const BUDGET: Duration = Duration::from_secs(30);
const MANY: usize = 10_000;

/// One row.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The row that does the same without any layer.
    pub(crate) floor: &'static str,
    /// Its calls, over a client that is ready at once or pending once. Whatever callers share, calls made by one row
    /// share.
    pub(crate) make: Box<dyn Fn(bool) -> Call + Send + Sync>,
    /// So many calls until everything was seen once.
    pub(crate) round: usize,
}

pub(crate) const FLOOR: &str = "floor";
pub(crate) const FLOOR_HEADERS: &str = "floor, 8 headers";
pub(crate) const FLOOR_MANY: &str = "floor, 10,000 URLs";
pub(crate) const BUDGET_ALONE: &str = "budget alone";
pub(crate) const RETRY_AFTER_ALONE: &str = "retry-after alone, no replay";
pub(crate) const HEALTHY: &str = "gate alone, a host of no family";
pub(crate) const GATE: &str = "gate alone";
pub(crate) const FLOOR_BUCKET: &str = "floor, a bucket named";
pub(crate) const BUCKETS: &str = "gate alone, a vendor of buckets";
pub(crate) const BUCKET: &str = "gate alone, its bucket named";
pub(crate) const LIMITED: &str = "gate alone, one of its buckets was limited";
pub(crate) const THREE: &str = "**three layers**";
pub(crate) const REPLAY: &str = "three layers, replay, 8 headers";
pub(crate) const NOTHING: &str = "a layer that does nothing";
pub(crate) const COUNTER: &str = "one shared counter, in and out";
pub(crate) const LOCKED: &str = "one lock, in and out";
pub(crate) const UNPACED: &str = "pacing alone, no family has limits";
pub(crate) const UNLIMITED: &str = "pacing alone, another family has limits";
pub(crate) const WINDOW: &str = "pacing alone, a window";
pub(crate) const IN_FLIGHT: &str = "pacing alone, in flight";
pub(crate) const FOUR: &str = "**the stack, without limits**";
pub(crate) const PACED: &str = "**the stack, a window and in flight**";
pub(crate) const TOWER_LIMIT: &str = "tower ConcurrencyLimit";
pub(crate) const TOWER: &str = "**tower Retry + Timeout + ConcurrencyLimit**";
pub(crate) const RESILIENCE: &str = "**tower-resilience retry + breaker + time limiter**";

fn row<L>(name: &'static str, floor: &'static str, load: Load, layers: L) -> Row
where
    L: Layer<Client> + Send + Sync + 'static,
    L::Service: Service<Request<Body>> + 'static,
    (L, Load): Calls,
{
    let round = load.round();
    let calls = (layers, load);
    Row { name, floor, make: Box::new(move |pending| calls.calls(pending)), round }
}

/// Layers and a load that make calls.
trait Calls: Send + Sync + 'static {
    fn calls(&self, pending: bool) -> Call;
}

impl<L, RB> Calls for (L, Load)
where
    L: Layer<Client> + Send + Sync + 'static,
    L::Service: Service<Request<Body>, Response = Response<RB>, Error: std::fmt::Debug> + 'static,
{
    fn calls(&self, pending: bool) -> Call {
        self.1.call(self.0.layer(self.1.client(pending)))
    }
}

/// All rows, in the order of the table.
pub(crate) fn all() -> Vec<Row> {
    let one = || Load::to(1);
    let families = families(1);
    let gate = || FamilyCooldownLayer::new(families.clone());
    let plain = || RetryAfterLayer::new().without_replay();
    let budget = BudgetLayer::new(BUDGET);
    let healthy = FamilyCooldownLayer::new(Families::builder().build().unwrap());
    let many = FamilyCooldownLayer::new(self::families(MANY));
    let timeout = TimeoutLayer::new(BUDGET);
    let pacing = |families: &Families| PacingLayer::new(families.clone());
    let others = Families::builder()
        .family(Family::new("vendor-0").host(host_name(0)))
        .family(Family::new("other").host("other.test").pacing(window()))
        .build()
        .unwrap();
    let both = paced(window().in_flight(1_000));
    let permits = || GlobalConcurrencyLimitLayer::new(1_000);
    vec![
        row(FLOOR, FLOOR, one(), tower::layer::util::Identity::new()),
        row(FLOOR_HEADERS, FLOOR_HEADERS, one().eight_headers(), tower::layer::util::Identity::new()),
        row(FLOOR_MANY, FLOOR_MANY, Load::to(MANY), tower::layer::util::Identity::new()),
        row(BUDGET_ALONE, FLOOR, one(), budget),
        row(RETRY_AFTER_ALONE, FLOOR, one(), plain()),
        row(GATE, FLOOR, one(), gate()),
        row(FLOOR_BUCKET, FLOOR_BUCKET, one().counted_in_a_bucket(), tower::layer::util::Identity::new()),
        row(BUCKETS, FLOOR, one(), FamilyCooldownLayer::new(of_buckets())),
        row(BUCKET, FLOOR_BUCKET, one().counted_in_a_bucket(), FamilyCooldownLayer::new(of_buckets())),
        row(LIMITED, FLOOR_BUCKET, one().counted_in_a_bucket(), FamilyCooldownLayer::new(limited())),
        row(HEALTHY, FLOOR, one(), healthy),
        row("gate alone, one of 10,000 families", FLOOR, one(), many.clone()),
        row("gate alone, 10,000 families in turn", FLOOR_MANY, Load::to(MANY), many),
        row("three layers, no deadline", FLOOR, one(), (BudgetLayer::unlimited(), plain(), gate())),
        row(THREE, FLOOR, one(), (budget, plain(), gate())),
        row(REPLAY, FLOOR_HEADERS, one().eight_headers(), (budget, RetryAfterLayer::new(), gate())),
        row(NOTHING, FLOOR, one(), Bare(Nothing)),
        row(COUNTER, FLOOR, one(), Bare(Counter::default())),
        row(LOCKED, FLOOR, one(), Bare(Locked::default())),
        row(UNPACED, FLOOR, one(), pacing(&families)),
        row(UNLIMITED, FLOOR, one(), pacing(&others)),
        row(WINDOW, FLOOR, one(), pacing(&paced(window()))),
        row(IN_FLIGHT, FLOOR, one(), pacing(&paced(Pacing::new().in_flight(1_000)))),
        row("pacing alone, a gap", FLOOR, one(), pacing(&paced(Pacing::new().gap(Duration::from_nanos(1))))),
        row("pacing alone, steered", FLOOR, one(), pacing(&paced(window().steered(true)))),
        row(FOUR, FLOOR, one(), (budget, plain(), pacing(&families), gate())),
        row(PACED, FLOOR, one(), (budget, plain(), pacing(&both), FamilyCooldownLayer::new(both.clone()))),
        row("tower Retry, request cloned", FLOOR, one(), RetryLayer::new(Never)),
        row("tower Timeout", FLOOR, one(), timeout.clone()),
        row(TOWER_LIMIT, FLOOR, one(), permits()),
        row(TOWER, FLOOR, one(), (RetryLayer::new(Never), timeout, permits())),
        row("tower-resilience retry", FLOOR, one(), resilient_retry::<Infallible>()),
        row("tower-resilience circuit breaker", FLOOR, one(), breaker()),
        row("tower-resilience time limiter", FLOOR, one(), limiter()),
        row(RESILIENCE, FLOOR, one(), (resilient_retry::<Limited>(), breaker(), limiter())),
    ]
}

/// So many families of one host each.
fn families(count: usize) -> Families {
    let family = |host| Family::new(format!("vendor-{host}")).host(host_name(host));
    (0..count).map(family).fold(Families::builder(), forbear::FamiliesBuilder::family).build().unwrap()
}

/// One family that is paced like this.
fn paced(pacing: Pacing) -> Families {
    let family = Family::new("vendor-0").host(host_name(0)).pacing(pacing);
    Families::builder().family(family).build().unwrap()
}

/// A limit that is never reached.
fn window() -> Pacing {
    Pacing::new().at_most(100_000_000, Duration::from_secs(1))
}

/// A vendor whose limits are for buckets that it names.
fn of_buckets() -> Families {
    let family = Family::new("vendor-0").host(host_name(0)).dialect(Dialect::named("discord").unwrap());
    Families::builder().family(family).build().unwrap()
}

/// The same, another of whose buckets cools.
fn limited() -> Families {
    let families = of_buckets();
    let refuses = tower::service_fn(|_: Request<Body>| {
        let answer = Response::builder().status(429).header("x-ratelimit-bucket", "other");
        ready(answer.header("retry-after", "86400").body(Body::new()))
    });
    let mut service = FamilyCooldownLayer::new(families.clone()).layer(refuses);
    let request = Request::get(format!("https://{}/other", host_name(0))).body(Body::new()).unwrap();
    let answer = tokio::runtime::Handle::current().block_on(service.call(request)).unwrap();
    assert_eq!(answer.status(), 429);
    families
}

/// The size of a call's future with the three layers, and the size of the client's own.
pub(crate) fn sizes() -> (usize, usize) {
    fn of<S: Service<Request<Body>>>(_: &S) -> usize {
        size_of::<S::Future>()
    }
    let client = Load::to(1).client(false);
    let layers = (BudgetLayer::new(BUDGET), RetryAfterLayer::new(), FamilyCooldownLayer::new(families(1)));
    (of(&layers.layer(client)), of(&client))
}

type Limited = CircuitBreakerError<TimeLimiterError<Infallible>>;

fn resilient_retry<E: Send + Sync + 'static>() -> ResilientRetryLayer<Request<Body>, Response<Body>, E> {
    ResilientRetryLayer::builder().max_attempts(3).fixed_backoff(Duration::from_millis(100)).build()
}

fn breaker() -> CircuitBreakerLayer {
    CircuitBreakerLayer::builder().failure_rate_threshold(0.5).sliding_window_size(100).build().unwrap()
}

fn limiter() -> TimeLimiterLayer {
    TimeLimiterLayer::builder().timeout_duration(BUDGET).cancel_running_future(true).build()
}

/// A policy that could send again, so that it keeps a copy, and never does.
#[derive(Debug, Clone, Copy)]
struct Never;

impl<RB> Policy<Request<Body>, Response<RB>, BoxError> for Never {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Request<Body>, _: &mut Result<Response<RB>, BoxError>) -> Option<Ready<()>> {
        None
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        Some(request.clone())
    }
}

impl<RB> Policy<Request<Body>, Response<RB>, Infallible> for Never {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Body>,
        answer: &mut Result<Response<RB>, Infallible>,
    ) -> Option<Ready<()>> {
        answer.is_err().then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        Some(request.clone())
    }
}
