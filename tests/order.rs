//! What each layer's place is good for: the documented order beside a wrong one, in numbers.

use std::future::{Ready, ready};
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{
    BudgetLayer, Error, Families, FamilyCooldownLayer, NoWait, PacingLayer, RetryAfterLayer, Signal, Spent,
    StaleLayer,
};
use forbear_mock::{MockVendor, Reply, reply};
use forbear_tests::client::{Body, client, cooling, get, get_now, stack};
use forbear_tests::families::{families, family, level};
use forbear_tests::logs::Logs;
use forbear_tests::times::{SLACK, assert_at_once, assert_gaps, gaps, ms};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::Instant;
use tower::retry::{Policy, RetryLayer};
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use tower_http::follow_redirect::FollowRedirectLayer;
use tracing::Level;

const SECOND: Duration = Duration::from_secs(1);

/// 429 with a delay in milliseconds.
fn limited(millis: u64) -> Reply {
    reply(429).header("retry-after-ms", millis.to_string())
}

/// A service whose type does not tell what it is made of, so that a mistake in it is not reported: that happens once
/// per process, and the tests of the reports wait for theirs.
fn hidden<S, B>(service: S) -> BoxCloneService<Request<B>, Response<Incoming>, Error>
where
    S: Service<Request<B>, Response = Response<Incoming>, Error = Error> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    BoxCloneService::new(service)
}

#[tokio::test]
async fn order_budget_outside_retry_after() {
    let budget = BudgetLayer::new(ms(800));
    let script = || [limited(400).times(4), reply(200)];

    let mock = MockVendor::start().await.script(script());
    let right = ServiceBuilder::new().layer(budget).layer(RetryAfterLayer::new()).service(client());
    let start = Instant::now();
    let answer = right.oneshot(get(mock.url("/chart"))).await.unwrap();
    assert!(start.elapsed() <= ms(800) + SLACK, "{:?}", start.elapsed());
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_gaps(&mock.attempts(), &[ms(400)]);

    // Each attempt keeps to its 0.8 s, and the call takes nearly five times that.
    let mock = MockVendor::start().await.script(script());
    let wrong = RetryAfterLayer::new().layer(hidden(budget.layer(client())));
    let start = Instant::now();
    let answer = wrong.oneshot(get(mock.url("/chart"))).await.unwrap();
    assert!(start.elapsed() >= ms(400 + 500 + 1000 + 2000), "{:?}", start.elapsed());
    assert_eq!(answer.status(), StatusCode::OK);
    mock.assert_attempts(5);
}

#[tokio::test]
async fn order_retry_after_outside_the_gate() {
    // A caller that waits out a cool-down of 0.6 s, and a sibling route that is called five times meanwhile.
    async fn storm<S, RB>(vendor: S, mock: &MockVendor)
    where
        S: Service<Request<Body>, Response = Response<RB>, Error = Error> + Clone,
    {
        let waits = vendor.clone().oneshot(get(mock.url("/chart")));
        let sibling = async {
            while mock.attempts().is_empty() || mock.attempts()[0].at().elapsed() < ms(50) {
                tokio::time::sleep(ms(5)).await;
            }
            for _ in 0..5 {
                let _ = vendor.clone().oneshot(get_now(mock.url("/quote"))).await;
            }
        };
        let (answer, ()) = tokio::join!(waits, sibling);
        assert_eq!(answer.map(|answer| answer.status()).unwrap(), StatusCode::OK);
        assert_gaps(&mock.attempts_on("/chart"), &[ms(600)]);
    }
    let start =
        async || MockVendor::start().await.script(reply(200)).route("/chart", [limited(600), reply(200)]);

    let mock = start().await;
    let known = families([family("vendor", [&mock])]);
    storm(stack(&known, 30 * SECOND), &mock).await;
    mock.assert_attempts_on("/quote", 0);
    assert_eq!(strikes(&known), 1);

    let mock = start().await;
    let known = families([family("vendor", [&mock])]);
    let retry = hidden(RetryAfterLayer::new().layer(client()));
    let wrong = ServiceBuilder::new()
        .layer(BudgetLayer::new(30 * SECOND))
        .layer(FamilyCooldownLayer::new(known.clone()))
        .service(retry);
    storm(wrong, &mock).await;
    mock.assert_attempts_on("/quote", 5);
    assert_eq!(strikes(&known), 0);
}

fn strikes(families: &Families) -> u64 {
    families.health().family("vendor").unwrap().strikes
}

#[tokio::test]
async fn order_two_budgets_are_reported_once() {
    let logs = Logs::catch();
    let mock = MockVendor::start().await.script(reply(200).delay(3 * SECOND));
    let known = families([family("vendor", [&mock])]);
    // A client that was built with layers, given to another stack: the inner 0.4 s stand, not the outer 30 s.
    for _ in 0..2 {
        let twice = BudgetLayer::new(30 * SECOND).layer(stack(&known, ms(400)).into_inner());
        let start = Instant::now();
        let ended = twice.oneshot(get(mock.url("/chart"))).await;
        assert!(matches!(&ended, Err(Error::BudgetExhausted(b)) if b.what() == Spent::Time), "{ended:?}");
        assert!((ms(400)..=ms(400) + SLACK).contains(&start.elapsed()), "{:?}", start.elapsed());
    }
    let reported = logs.at(Level::ERROR);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].field("fix").starts_with("keep one BudgetLayer per stack"), "{reported:?}");
}

#[tokio::test]
async fn order_a_stack_in_a_stack_is_reported_once() {
    let logs = Logs::catch();
    let known = families([]);
    for _ in 0..2 {
        let _ = forbear::stack(&known).service(stack(&known, SECOND));
    }
    let reported = logs.at(Level::ERROR);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!(reported[0].field("below"), "Vendor", "{reported:?}");
    assert!(reported[0].field("fix").starts_with("put layers around the client itself"), "{reported:?}");
}

#[tokio::test]
async fn order_stale_inside_another_layer_is_reported_once() {
    let logs = Logs::catch();
    let stale = StaleLayer::memory(1 << 20);
    let inside = || stale.layer(client::<Body>());
    for _ in 0..2 {
        let _ = BudgetLayer::new(SECOND).layer(inside());
        let _ = RetryAfterLayer::new().layer(inside());
        let _ = stale.layer(inside());
        // As it should be.
        let _ = stale.layer(stack(&families([]), SECOND));
    }
    let reported = logs.at(Level::ERROR);
    let fixes: Vec<_> = reported.iter().map(|event| event.field("fix")).collect();
    assert_eq!(fixes.len(), 2, "{fixes:?}");
    assert!(fixes[0].starts_with("put StaleLayer outermost"), "{fixes:?}");
    assert!(fixes[1].starts_with("keep one StaleLayer per stack"), "{fixes:?}");
    assert_eq!((reported[0].field("layer"), reported[0].field("below")), ("BudgetLayer", "StaleLayer"));
}

#[tokio::test]
async fn order_retry_inside_the_gate_is_reported_once() {
    let logs = Logs::catch();
    let mock = MockVendor::start().await.script([limited(300), reply(200)]);
    let known = families([family("vendor", [&mock])]);
    for _ in 0..2 {
        let wrong = FamilyCooldownLayer::new(known.clone()).layer(RetryAfterLayer::new().layer(client()));
        assert_eq!(wrong.oneshot(get(mock.url("/chart"))).await.unwrap().status(), StatusCode::OK);
    }
    // One call, two attempts, and the gate has seen no signal.
    mock.assert_attempts(3);
    assert_eq!(strikes(&known), 0);
    let reported = logs.at(Level::ERROR);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].field("fix").starts_with("put RetryAfterLayer outside FamilyCooldownLayer"),
        "{reported:?}"
    );
    assert_eq!(reported[0].field("layer"), "FamilyCooldownLayer");
    assert_eq!(reported[0].field("below"), "RetryAfterLayer");
}

#[tokio::test]
async fn order_other_mistakes_are_reported_once() {
    #[derive(Clone)]
    struct Never;
    let logs = Logs::catch();
    let known = families([]);
    let (budget, retry) = (BudgetLayer::new(SECOND), RetryAfterLayer::new());
    let (pacing, gate) = (PacingLayer::new(known.clone()), FamilyCooldownLayer::new(known));
    for _ in 0..2 {
        let wire = client::<Body>;
        let _ = retry.layer(budget.layer(wire()));
        let _ = retry.layer(retry.layer(wire()));
        let _ = gate.layer(budget.layer(wire()));
        let _ = gate.layer(gate.layer(wire()));
        let _ = gate.layer(tower::retry::Retry::new(Never, wire()));
        let _ = gate.layer(pacing.layer(wire()));
        let _ = pacing.layer(retry.layer(wire()));
        let _ = pacing.layer(tower::retry::Retry::new(Never, wire()));
        let _ = pacing.layer(budget.layer(wire()));
        let _ = pacing.layer(pacing.layer(wire()));
    }
    let fixes: Vec<String> =
        logs.at(Level::ERROR).iter().map(|event| event.field("fix").to_owned()).collect();
    let expected = [
        "put BudgetLayer outside RetryAfterLayer",
        "keep one RetryAfterLayer per stack",
        "put BudgetLayer outside FamilyCooldownLayer",
        "keep one FamilyCooldownLayer per stack",
        "put tower::retry between RetryAfterLayer and FamilyCooldownLayer",
        "put PacingLayer outside FamilyCooldownLayer",
        "put RetryAfterLayer outside PacingLayer",
        "put tower::retry between RetryAfterLayer and PacingLayer",
        "put BudgetLayer outside PacingLayer",
        "keep one PacingLayer per stack",
    ];
    assert_eq!(fixes.len(), expected.len(), "{fixes:?}");
    for (fix, expected) in fixes.iter().zip(expected) {
        assert!(fix.starts_with(expected), "{fixes:?}");
    }
}

/// Sends again what was answered with a plain 500, as often as it takes.
#[derive(Clone)]
struct Faults;

impl<RB> Policy<Request<Replay<Body>>, Response<RB>, Error> for Faults {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        next: &mut Request<Replay<Body>>,
        result: &mut Result<Response<RB>, Error>,
    ) -> Option<Ready<()>> {
        let fault = result.as_ref().is_ok_and(|answer| answer.status() == StatusCode::INTERNAL_SERVER_ERROR);
        (fault && next.body().replayable()).then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Request<Replay<Body>>) -> Option<Request<Replay<Body>>> {
        let next = Request::builder().method(request.method()).uri(request.uri());
        let mut next = next.body(request.body().try_clone()?).ok()?;
        *next.extensions_mut() = request.extensions().clone();
        Some(next)
    }
}

#[tokio::test]
async fn order_tower_retry_between_retry_after_and_the_gate() {
    let request = |mock: &MockVendor, body: &'static str| {
        Request::put(mock.url("/order")).body(Full::from(body)).unwrap()
    };
    let start = async |limit| {
        let script = [reply(500), limited(300), reply(500).times(2), reply(200)];
        let mock = MockVendor::start().await.script(script);
        let known = families([family("vendor", [&mock])]);
        let right = ServiceBuilder::new()
            .layer(BudgetLayer::new(30 * SECOND))
            .layer(RetryAfterLayer::new().replay_limit(limit))
            .layer(RetryLayer::new(Faults))
            .layer(FamilyCooldownLayer::new(known.clone()))
            .service(client());
        (mock, known, right)
    };

    // A fault, a limit that is waited for once, two more faults: the whole body each time.
    let (mock, known, right) = start(64).await;
    assert_eq!(right.oneshot(request(&mock, "order 7")).await.unwrap().status(), StatusCode::OK);
    mock.assert_attempts(5);
    assert!(mock.attempts().iter().all(|attempt| attempt.body() == "order 7"));
    let waited = gaps(&mock.attempts());
    assert!(waited[1] >= ms(300), "{waited:?}");
    assert_eq!(strikes(&known), 1);

    // What is not kept is sent once, and its fault returned: a body over the limit, or one of a request with NoWait.
    let (mock, _, right) = start(3).await;
    let answer = right.clone().oneshot(request(&mock, "order 7")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    mock.set_script([reply(500), reply(200)]);
    let mut no_wait = request(&mock, "order 7");
    no_wait.extensions_mut().insert(NoWait);
    assert_eq!(right.clone().oneshot(no_wait).await.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
    mock.assert_attempts(2);
    // Nothing has to be kept of an empty one.
    mock.set_script([reply(500), reply(200)]);
    assert_eq!(right.oneshot(get_now(mock.url("/order"))).await.unwrap().status(), StatusCode::OK);
    mock.assert_attempts(4);
}

/// Two vendors: the first redirects `/old` to `/new` of the second, which says 429.
async fn redirecting() -> (MockVendor, MockVendor, Families) {
    let old = MockVendor::start().await;
    let new = MockVendor::start().await.script(limited(30_000));
    old.set_script(reply(307).header("location", new.url("/new")));
    let known = families([family("old", [&old]), family("new", [&new])]);
    (old, new, known)
}

#[tokio::test]
async fn records_under_the_effective_url() {
    // Between budget and retry: every hop passes the gate of its own family, so the second call stops at the door.
    let (old, new, known) = redirecting().await;
    let right = ServiceBuilder::new()
        .layer(BudgetLayer::new(5 * SECOND))
        .layer(FollowRedirectLayer::new())
        .layer(RetryAfterLayer::new())
        .layer(FamilyCooldownLayer::new(known.clone()))
        .service(client());
    let answer = right.clone().oneshot(get(old.url("/old"))).await.unwrap();
    assert_eq!(answer.extensions().get::<Signal>().unwrap().family(), Some("new"));
    assert_eq!((level(&known, "old"), level(&known, "new")), (0, 1));
    let start = Instant::now();
    let recorded = cooling(right.clone().oneshot(get(old.url("/old"))).await);
    assert_eq!(recorded.reason().as_str(), "retry-after");
    old.set_script(reply(307).header("location", new.url("/elsewhere")));
    let gate = cooling(right.clone().oneshot(get(old.url("/old"))).await);
    assert_eq!((gate.family(), gate.route()), ("new", Some("/new")));
    assert_at_once(start);
    old.assert_attempts(3);
    new.assert_attempts(1);

    // In the client: forbear sees one attempt, charges the answer to the URL that spoke, and cannot stop the hop.
    let (old, new, known) = redirecting().await;
    let following = ServiceBuilder::new()
        .map_request(|request: Request<Replay<Body>>| request.map(|_| Full::<Bytes>::default()))
        .layer(FollowRedirectLayer::new())
        .service(client::<Body>());
    let vendor = forbear::stack(&known).budget(5 * SECOND).service(following);
    let answer = vendor.send(get(old.url("/old"))).await.unwrap();
    assert_eq!(answer.extensions().get::<Signal>().unwrap().family(), Some("new"));
    assert_eq!((level(&known, "old"), level(&known, "new")), (0, 1));
    cooling(vendor.send(get(new.url("/new"))).await);
    new.assert_attempts(1);
    assert_eq!(vendor.send(get(old.url("/old"))).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    old.assert_attempts(2);
    new.assert_attempts(2);
}
