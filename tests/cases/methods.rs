//! What is sent twice, and what never is.

use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{BudgetLayer, Error, Families, Family, FamilyCooldownLayer, HealthPhase, RetryAfterLayer};
use forbear_mock::{MockVendor, Reply, reply};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;
use tower::retry::{Policy, RetryLayer};
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{Body, SECOND, automatic, post, stacked};

fn with_key(mut request: Request<Body>) -> Request<Body> {
    request.headers_mut().insert("idempotency-key", HeaderValue::from_static("7"));
    request
}

/// The status that a caller gets from a vendor that answers `first` and is well afterwards, and how many attempts
/// that took.
async fn sent(request: Request<Body>, first: Reply) -> (u16, usize) {
    let mock = MockVendor::in_process().script([first, reply(200)]);
    let families = automatic();
    let response = stacked(&families, 60 * SECOND, &mock).send(request).await.unwrap();
    (response.status().as_u16(), mock.attempts().len())
}

// KittyCAD/kittycad.rs#1042, traefik/traefik#8990, http4s/http4s#712: a POST was repeated after a 5xx, and billed
// twice.
#[tokio::test(start_paused = true)]
async fn a_post_is_repeated_only_where_that_bills_nobody_twice() {
    let overloaded = || reply(503).retry_after(1);
    assert_eq!(sent(post("/"), reply(502)).await, (502, 1));
    assert_eq!(sent(post("/"), overloaded()).await, (503, 1));
    assert_eq!(sent(post("/"), reply(429).retry_after(1)).await, (200, 2));
    assert_eq!(sent(with_key(post("/")), overloaded()).await, (200, 2));
    assert_eq!(
        sent(with_key(post("/")), reply(502)).await,
        (502, 1),
        "a plain fault is not this stack's job"
    );
    for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE] {
        let mut request = post("/");
        *request.method_mut() = method.clone();
        assert_eq!(sent(request, overloaded()).await, (200, 2), "{method}");
    }
    let mut patch = post("/");
    *patch.method_mut() = Method::PATCH;
    assert_eq!(sent(patch, overloaded()).await, (503, 1));
}

/// Repeats ordinary faults once: a failed connection, and a 502 where the request carries a key.
#[derive(Clone)]
struct Faults {
    left: usize,
}

impl<RB> Policy<Request<Replay<Body>>, Response<RB>, Error> for Faults {
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        request: &mut Request<Replay<Body>>,
        answer: &mut Result<Response<RB>, Error>,
    ) -> Option<Self::Future> {
        let again = match answer {
            Ok(response) => {
                response.status() == StatusCode::BAD_GATEWAY
                    && request.headers().contains_key("idempotency-key")
            }
            Err(error) => matches!(error, Error::Client(_)),
        };
        self.left = self.left.checked_sub(usize::from(again))?;
        again.then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &Request<Replay<Body>>) -> Option<Request<Replay<Body>>> {
        let mut again = Request::new(Replay::plain(Full::default()));
        again.method_mut().clone_from(request.method());
        again.uri_mut().clone_from(request.uri());
        again.headers_mut().clone_from(request.headers());
        request.body().is_end_stream().then_some(again)
    }
}

// KittyCAD/kittycad.rs#1042: a fault retry of the user's own, at its place in the order, decides by the key.
#[tokio::test(start_paused = true)]
async fn a_fault_retry_between_the_layers_repeats_what_a_key_allows() {
    for (key, status, attempts) in [(true, 200, 2), (false, 502, 1)] {
        let mock = MockVendor::in_process().script([reply(502), reply(200)]);
        let families = automatic();
        let vendor = ServiceBuilder::new()
            .layer(BudgetLayer::new(30 * SECOND))
            .layer(RetryAfterLayer::new())
            .layer(RetryLayer::new(Faults { left: 1 }))
            .layer(FamilyCooldownLayer::new(families.clone()))
            .service(mock.service());
        let request = Request::post("http://vendor.test/").body(Body::default()).unwrap();
        let request = if key { with_key(request) } else { request };
        let start = Instant::now();
        let response = vendor.oneshot(request).await.unwrap();
        assert_eq!((response.status().as_u16(), mock.attempts().len()), (status, attempts));
        assert_eq!(start.elapsed(), Duration::ZERO, "a fault is nothing to wait for");
        assert!(families.health().families.is_empty(), "a fault makes no family");
    }
}

// KittyCAD/kittycad.rs#1042: a connection that is refused carried nothing out; the error says whose it is.
#[tokio::test]
async fn a_refused_connection_is_the_clients_error_and_cools_nobody() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http::<Replay<Full<Bytes>>>();
    let family = Family::new("closed").host(closed.to_string());
    let families = Families::builder().family(family).build().unwrap();
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(client.clone());
    let refused = || Request::post(format!("http://{closed}/")).body(Full::from("order 7")).unwrap();
    for _ in 0..3 {
        let Err(Error::Client(error)) = vendor.send(refused()).await else { unreachable!("nobody listens") };
        let error = error.downcast::<hyper_util::client::legacy::Error>().unwrap();
        assert!(error.is_connect());
    }
    let health = families.health();
    let closed = health.family("closed").unwrap();
    assert_eq!((closed.phase, closed.signals, closed.attempts), (HealthPhase::Open, 0, 3));
}
