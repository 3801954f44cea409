//! What the layers allocate for one call. The only test of its process, since it counts allocations of all threads.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use forbear::{
    BudgetLayer, Families, FamiliesBuilder, Family, FamilyCooldownLayer, NoWait, Pacing, PacingLayer,
    RetryAfterLayer, Unknown,
};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::Empty;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tower::{Layer, Service};

#[global_allocator]
static GLOBAL: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

type Body = Empty<Bytes>;
type Answer = Result<Response<Body>, Infallible>;

/// A client that allocates nothing: ready at once, or pending once.
#[derive(Debug, Clone, Copy)]
struct Client {
    pending: bool,
}

struct Attempt {
    pending: bool,
    answer: Ready<Answer>,
}

impl<B> Service<Request<B>> for Client {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Attempt;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Attempt {
        Attempt { pending: self.pending, answer: ready(Ok(Response::new(Body::new()))) }
    }
}

impl Future for Attempt {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        if std::mem::take(&mut self.pending) {
            return Poll::Pending;
        }
        Pin::new(&mut self.answer).poll(cx)
    }
}

/// Eight headers, their values shared as those of a parsed message are.
fn request(uri: &'static str) -> Request<Body> {
    let mut request = Request::new(Body::new());
    *request.uri_mut() = uri.parse().unwrap();
    for name in ["accept", "accept-encoding", "authorization", "user-agent", "x-a", "x-b", "x-c", "x-d"] {
        request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static("value"));
    }
    request
}

const SECOND: Duration = Duration::from_secs(1);

/// So many calls are counted.
const CALLS: u64 = 200;

/// The fewest allocations of one call, from its start until its answer was dropped: what the call needs is in each of
/// many, what other threads do is not.
fn fewest<S>(mut service: S, made: impl Fn() -> Request<Body>) -> usize
where
    S: Service<Request<Body>, Error: std::fmt::Debug>,
{
    let mut cx = Context::from_waker(Waker::noop());
    let mut one = |request| {
        let region = Region::new(GLOBAL);
        assert!(service.poll_ready(&mut cx).is_ready());
        let mut call = pin!(service.call(request));
        let answer = match call.as_mut().poll(&mut cx) {
            Poll::Ready(answer) => answer,
            Poll::Pending => match call.as_mut().poll(&mut cx) {
                Poll::Ready(answer) => answer,
                Poll::Pending => unreachable!("pending once at most"),
            },
        };
        drop(black_box(answer.unwrap()));
        region.change().allocations
    };
    // The first ones make what is kept, such as a thread's own counters.
    (0..CALLS).map(|_| one(made())).min().unwrap()
}

struct Case {
    what: &'static str,
    uri: &'static str,
    pending: bool,
    layer: RetryAfterLayer,
    no_wait: bool,
    most: usize,
}

#[tokio::test(start_paused = true)]
async fn the_layers_allocate_nothing_for_a_call_that_is_not_replayed_and_does_not_wait() {
    let counted = Region::new(GLOBAL);
    drop(black_box(vec![0_u8; 100]));
    assert_eq!(counted.change().allocations, 1, "the allocator counts");

    let families = Families::builder()
        .family(Family::new("vendor").host("vendor.test").route("vendor.test", "/v8/{*rest}"))
        .unknown(Unknown::PerHost)
        .build()
        .unwrap();
    of_few_families(&families);
    of_ten_thousand_families();
    of_paced_families();
}

/// One whose limits are not reached, another, and a healthy host.
fn of_paced_families() {
    let pacing = Pacing::new().at_most(1_000_000, SECOND).in_flight(8);
    let families = Families::builder()
        .family(Family::new("paced").host("paced.test").pacing(pacing))
        .family(Family::new("free").host("free.test"))
        .build()
        .unwrap();
    let layers = (
        BudgetLayer::new(30 * SECOND),
        RetryAfterLayer::new().without_replay(),
        PacingLayer::new(families.clone()),
        FamilyCooldownLayer::new(families.clone()),
    );
    for uri in ["https://paced.test/chart", "https://free.test/chart", "https://healthy.test/chart"] {
        let allocations = fewest(layers.layer(Client { pending: true }), || request(uri));
        println!("pacing, {uri}: {allocations} allocations");
        assert_eq!(allocations, 0, "{uri}");
    }
    let health = families.health();
    let paced = health.family("paced").unwrap();
    assert_eq!((paced.attempts, paced.pacing.as_ref().unwrap().in_flight), (CALLS, Some(0)));
}

/// A match by host, port, route, suffix, name as sent and not, and none, each among ten thousand families.
fn of_ten_thousand_families() {
    let family = |n: u32| {
        let host = format!("api.v{n}.test");
        Family::new(format!("vendor {n}"))
            .host(host.as_str())
            .host(format!("{host}:8443"))
            .host_suffix(format!("cdn{n}.test"))
            .route("shared.test", format!("/v{n}/{{id}}/{{*rest}}"))
    };
    let families =
        (0..10_000).map(family).fold(Families::builder(), FamiliesBuilder::family).build().unwrap();
    assert_eq!(families.health().families.len(), 10_000);
    let mut counted = Vec::new();
    for (what, uri, whose) in [
        ("host", "https://api.v9999.test/chart", Some("vendor 9999")),
        ("host, not in its normal form", "https://u:p@API.v77.test.:443/chart", Some("vendor 77")),
        ("host and port", "http://api.v4321.test:8443/chart", Some("vendor 4321")),
        ("suffix", "https://a.b.c.cdn1234.test/chart", Some("vendor 1234")),
        ("route", "https://shared.test/v5555/orders/7/lines", Some("vendor 5555")),
        ("no family", "https://healthy.test/chart", None),
    ] {
        let before = attempts(&families, whose);
        let layer = FamilyCooldownLayer::new(families.clone());
        let allocations = fewest(layer.layer(Client { pending: true }), || request(uri));
        println!("10,000 families, {what}: {allocations} allocations");
        assert_eq!(attempts(&families, whose) - before, if whose.is_some() { CALLS } else { 0 }, "{what}");
        counted.push((what, allocations));
    }
    assert!(counted.iter().all(|(_, allocations)| *allocations == 0), "{counted:?}");
}

/// Attempts that a family admitted.
fn attempts(families: &Families, family: Option<&str>) -> u64 {
    family.map_or(0, |family| families.health().family(family).unwrap().attempts)
}

fn of_few_families(families: &Families) {
    let (known, unknown) = ("https://vendor.test/v8/chart?x=1", "https://healthy.test/v8/chart?x=1");
    let mut cases = Vec::new();
    for (uri, whose) in [(known, "registered family"), (unknown, "healthy host")] {
        for pending in [false, true] {
            let case = |what, layer, no_wait, most| Case { what, uri, pending, layer, no_wait, most };
            cases.push((whose, case("without replay", RetryAfterLayer::new().without_replay(), false, 0)));
            // What the extension itself costs is the caller's; here it is made before the count begins.
            cases.push((whose, case("NoWait", RetryAfterLayer::new(), true, 0)));
            cases.push((whose, case("with replay", RetryAfterLayer::new(), false, 3)));
        }
    }
    for (whose, Case { what, uri, pending, layer, no_wait, most }) in cases {
        let layers =
            (BudgetLayer::new(Duration::from_secs(30)), layer, FamilyCooldownLayer::new(families.clone()));
        let allocations = fewest(layers.layer(Client { pending }), || {
            let mut request = request(uri);
            if no_wait {
                request.extensions_mut().insert(NoWait);
            }
            request
        });
        let polls = if pending { "pending once" } else { "ready at once" };
        println!("{whose}, {polls}, {what}: {allocations} allocations (at most {most})");
        assert!(allocations <= most, "{whose}, {polls}, {what}: {allocations} allocations");
    }
}
