//! Vendors that lie, callers that ask for too much, and code in between that panics: one call fails, and nothing else.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use forbear::{Error, Families, Family, ForbearMiddleware, HealthPhase, NoWait, Pacing};
use forbear_mock::{MockVendor, reply};
use futures_util::future::{BoxFuture, join_all};
use futures_util::{StreamExt, stream};
use http::{Extensions, HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use reqwest_middleware::{ClientBuilder, Middleware, Next, Result};

use crate::adapters::{Adapter, Ended, family, get, reqwest_client, stack, through};
use crate::server::Server;

const SECOND: Duration = Duration::from_secs(1);

through!([
    a_429_whose_body_does_not_end_is_let_go,
    a_429_that_is_cut_off_is_a_429,
    ten_thousand_callers_of_a_cooling_family_send_nothing,
    headers_that_are_too_large_are_an_error_of_that_call,
]);

through!(reqwest_redirects: Reqwest1, middleware_redirects: Middleware1 => [a_circle_of_redirects_is_an_error_and_no_limit]);

/// Of the first two answers, one that never stops and one that never starts.
fn endless(first: bool) -> UnsyncBoxBody<Bytes, Infallible> {
    let piece = || Ok(Frame::data(Bytes::from_static(&[b'x'; 1024])));
    if first {
        StreamBody::new(stream::repeat_with(piece)).boxed_unsync()
    } else {
        StreamBody::new(stream::pending()).boxed_unsync()
    }
}

async fn a_429_whose_body_does_not_end_is_let_go(adapter: Adapter) {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |_| {
        let at = asked.fetch_add(1, Ordering::SeqCst);
        async move {
            let mut answer =
                Response::new(if at < 2 { endless(at == 0) } else { Empty::new().boxed_unsync() });
            if at < 2 {
                *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                answer.headers_mut().insert("retry-after-ms", HeaderValue::from_static("1"));
                answer.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
            }
            answer
        }
    })
    .await;
    let vendor = adapter.around(&stack(&family(&server.authority()), 30 * SECOND));
    assert_eq!(vendor.status(get(server.url("/chart"))).await, StatusCode::OK);
}

async fn a_429_that_is_cut_off_is_a_429(adapter: Adapter) {
    let cut = reply(429).header("retry-after-ms", "1").body("too many requests").close_in_body(3);
    let mock = MockVendor::start().await.script([cut, reply(200)]);
    let families = family(&mock.authority());
    let vendor = adapter.around(&stack(&families, 30 * SECOND));
    assert_eq!(vendor.status(get(mock.url("/chart"))).await, StatusCode::OK);
    mock.assert_attempts(2);
    assert_eq!(families.health().family("quotes").map(|family| family.strikes), Some(1));
}

async fn ten_thousand_callers_of_a_cooling_family_send_nothing(adapter: Adapter) {
    let mock = MockVendor::start().await.script(reply(429).retry_after(600));
    let vendor = adapter.around(&stack(&family(&mock.authority()), 60 * SECOND));
    assert_eq!(vendor.status(get(mock.url("/chart"))).await, StatusCode::TOO_MANY_REQUESTS);
    // Who asks a server needs a connection to it, and gets one after the other.
    let (callers, at_once) = if adapter.is_a_server() { (500, 100) } else { (10_000, 10_000) };
    let calls = stream::iter(0..callers).map(|n| vendor.send(get(mock.url(&format!("/{n}")))));
    let ends: Vec<_> =
        calls.buffer_unordered(at_once).map(|end| end.map(|answer| answer.status())).collect().await;
    assert_eq!(ends.len(), callers);
    for end in ends {
        let refused = end.unwrap_err();
        assert!(matches!(Ended::of(&refused), Ended::Cooling(..)), "{refused:?}");
    }
    mock.assert_attempts(1);
}

async fn headers_that_are_too_large_are_an_error_of_that_call(adapter: Adapter) {
    let server = Server::start(|request| async move {
        let mut answer = Response::new(Empty::<Bytes>::new());
        if request.uri().path() == "/large" {
            let value = HeaderValue::from_bytes(&vec![b'x'; 4 << 20]).unwrap();
            answer.headers_mut().insert("x-large", value);
        }
        answer
    })
    .await;
    let families = family(&server.authority());
    let vendor = adapter.around(&stack(&families, 30 * SECOND));
    let mut large = get(server.url("/chart"));
    large.headers_mut().insert("x-large", HeaderValue::from_bytes(&vec![b'x'; 4 << 20]).unwrap());
    for request in [large, get(server.url("/large"))] {
        // Some servers answer 431, some end the connection.
        let ended = vendor.send(request).await.map(|answer| answer.status());
        assert!(ended.as_ref().map_or(true, |status| *status != StatusCode::OK), "{ended:?}");
        assert_eq!(vendor.status(get(server.url("/chart"))).await, StatusCode::OK);
    }
    let health = families.health();
    assert!(health.family("quotes").is_none_or(|family| family.phase == HealthPhase::Open), "{health}");
}

async fn a_circle_of_redirects_is_an_error_and_no_limit(adapter: Adapter) {
    let (one, two) = (MockVendor::start().await, MockVendor::start().await);
    one.set_script(reply(307).header("location", two.url("/?key=S3CRET")));
    two.set_script(reply(307).header("location", one.url("/?key=S3CRET")));
    let families = Families::builder()
        .family(Family::new("one").host(one.authority()))
        .family(Family::new("two").host(two.authority()))
        .build()
        .unwrap();
    let vendor = adapter.around(&stack(&families, 30 * SECOND));
    let error = vendor.send(get(one.url("/"))).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains("S3CRET"), "{error:?}");
    let health = families.health();
    for name in ["one", "two"] {
        let family = health.family(name).unwrap();
        assert_eq!((family.phase, family.strikes), (HealthPhase::Open, 0), "{health}");
    }
}

/// Panics when it is told to.
#[derive(Clone, Default)]
struct Panics(Arc<AtomicBool>);

impl Middleware for Panics {
    fn handle<'this, 'extensions, 'next, 'all>(
        &'this self,
        request: reqwest::Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> BoxFuture<'all, Result<reqwest::Response>>
    where
        'this: 'all,
        'extensions: 'all,
        'next: 'all,
        Self: 'all,
    {
        Box::pin(async move {
            if self.0.load(Ordering::SeqCst) {
                // Without a message on the test's output.
                std::panic::resume_unwind(Box::new("a middleware"));
            }
            next.run(request, extensions).await
        })
    }
}

#[tokio::test]
async fn a_middleware_that_panics_below_harms_only_its_own_call() {
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
    let quotes = Family::new("quotes").host(mock.authority()).pacing(Pacing::new().in_flight(1));
    let families = Families::builder().family(quotes).build().unwrap();
    let panics = Panics::default();
    let client = ClientBuilder::new(reqwest_client(false))
        .with(ForbearMiddleware::new(&families).budget(30 * SECOND))
        .with(panics.clone())
        .build();
    // While it is well, and as a probe.
    for cooling in [false, true] {
        if cooling {
            let limited = client.get(mock.url("/a")).with_extension(NoWait).send().await.unwrap();
            assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
        }
        panics.0.store(true, Ordering::SeqCst);
        let (client, url) = (client.clone(), mock.url("/b"));
        let ended = tokio::spawn(async move { client.get(url).send().await }).await;
        assert!(ended.unwrap_err().is_panic());
        panics.0.store(false, Ordering::SeqCst);
    }
    let calls = join_all((0..3).map(|_| client.get(mock.url("/c")).send()));
    for answer in tokio::time::timeout(25 * SECOND, calls).await.expect("its place is lost") {
        assert_eq!(
            answer.map_err(|error| format!("{:?}", Error::find(&error))).unwrap().status(),
            StatusCode::OK
        );
    }
}
