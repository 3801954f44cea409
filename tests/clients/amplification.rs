//! Who sends again besides the stack: not twice over, and said once.

use std::time::Duration;

use bytes::Bytes;
use forbear::{Error, Families, ForbearMiddleware, Unknown};
use forbear_mock::{MockVendor, Reply, reply};
use forbear_tests::logs::Logs;
use futures_util::future::BoxFuture;
use http::{Extensions, Request, StatusCode};
use http_body_util::Empty;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Next, Result};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;
use tracing::Level;

use crate::adapters::{Adapter, family, get, reqwest_client, stack, through};

const SECOND: Duration = Duration::from_secs(1);

through!([a_declared_attempt_is_not_sent_again]);

/// Limited for so long that nobody waits.
fn limited() -> Reply {
    reply(429).retry_after(600)
}

async fn a_declared_attempt_is_not_sent_again(adapter: Adapter) {
    for (name, value) in [
        ("forbear-attempt", "2"),
        ("x-stainless-retry-count", "0"),
        ("amz-sdk-request", "attempt=1; max=3"),
        ("x-goog-api-client", "gl-go/1.26 gccl-invocation-id/a gccl-attempt-count/1"),
        ("grpc-previous-rpc-attempts", "1"),
    ] {
        let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
        let vendor = adapter.around(&stack(&family(&mock.authority()), 30 * SECOND));
        let mut declared = get(mock.url("/chart"));
        declared.headers_mut().insert(name, http::HeaderValue::from_static(value));
        assert_eq!(vendor.status(declared).await, StatusCode::TOO_MANY_REQUESTS, "{name}");
        mock.assert_attempts(1);
        // The next one waits for the family first: it was not sent yet.
        assert_eq!(vendor.status(get(mock.url("/options"))).await, StatusCode::OK);
    }
}

/// Sends again whatever is limited, twice at most, as `reqwest-retry` does.
fn retries<'a>(
    request: reqwest::Request,
    extensions: &'a mut Extensions,
    next: Next<'a>,
) -> BoxFuture<'a, Result<reqwest::Response>> {
    Box::pin(async move {
        let mut left = 2;
        loop {
            let again = request.try_clone().unwrap();
            let answer = next.clone().run(again, extensions).await;
            if left == 0 || !answer.as_ref().map_or(true, |answer| answer.status() == 429) {
                return answer;
            }
            left -= 1;
        }
    })
}

fn middleware(families: &Families) -> ForbearMiddleware {
    ForbearMiddleware::new(families).budget(5 * SECOND)
}

async fn status(client: &ClientWithMiddleware, url: String) -> StatusCode {
    client.get(url).send().await.unwrap().status()
}

/// Who was reported.
fn reported(logs: &Logs) -> Vec<String> {
    logs.at(Level::ERROR).iter().map(|event| event.field("who").to_owned()).collect()
}

#[tokio::test]
async fn a_second_stack_is_reported_once_and_errors_pass_it_unchanged() {
    let logs = Logs::catch();
    let mock = MockVendor::start().await.script(limited());
    let families = family(&mock.authority());
    let other = Families::builder().unknown(Unknown::PassThrough).build().unwrap();
    let inner = BoxCloneSyncService::new(stack(&families, 5 * SECOND).reqwest(reqwest_client(false)));
    let outer = stack(&other, 5 * SECOND).service(inner);
    let get = |path| Request::get(mock.url(path)).body(Empty::<Bytes>::new()).unwrap();
    assert_eq!(outer.clone().oneshot(get("/a")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reported(&logs), ["a stack below this stack"]);
    let refused = outer.oneshot(get("/b")).await.unwrap_err();
    assert!(matches!(&refused, Error::Cooling(c) if c.family() == "quotes"), "{refused:?}");

    let client = ClientBuilder::new(reqwest_client(false))
        .with(middleware(&other))
        .with(middleware(&families))
        .build();
    let refused = client.get(mock.url("/c")).send().await.unwrap_err();
    assert!(
        matches!(Error::find(&refused), Some(Error::Cooling(c)) if c.family() == "quotes"),
        "{refused:?}"
    );
    client.get(mock.url("/d")).send().await.unwrap_err();
    assert_eq!(reported(&logs), ["a stack below this stack"]);
    mock.assert_attempts(1);

    // A refusal of the one below is one for the one above: waited out where it fits.
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "900"), reply(200)]);
    let families = family(&mock.authority());
    let short = ForbearMiddleware::new(&families).budget(SECOND / 2);
    let below = ClientBuilder::new(reqwest_client(false)).with(short.clone()).build();
    assert_eq!(status(&below, mock.url("/a")).await, StatusCode::TOO_MANY_REQUESTS);
    let both = ClientBuilder::new(reqwest_client(false)).with(middleware(&other)).with(short).build();
    assert_eq!(status(&both, mock.url("/b")).await, StatusCode::OK);
}

#[tokio::test]
async fn a_retry_before_the_middleware_is_reported_once() {
    let logs = Logs::catch();
    let mock = MockVendor::start().await.script([reply(200), limited()]);
    let client = ClientBuilder::new(reqwest_client(false))
        .with(retries)
        .with(middleware(&family(&mock.authority())))
        .build();
    assert_eq!(status(&client, mock.url("/a")).await, StatusCode::OK);
    assert!(reported(&logs).is_empty());

    // Who keeps the extensions of one request for the next does not send again.
    let other = MockVendor::start().await.script(limited());
    let alone =
        ClientBuilder::new(reqwest_client(false)).with(middleware(&family(&other.authority()))).build();
    let mut extensions = Extensions::new();
    for path in ["/a", "/b"] {
        let request = alone.get(other.url(path)).build().unwrap();
        let _ = alone.execute_with_extensions(request, &mut extensions).await;
    }
    assert!(reported(&logs).is_empty());

    for path in ["/b", "/c"] {
        client.get(mock.url(path)).send().await.unwrap_err();
    }
    assert_eq!(reported(&logs), ["a middleware before ForbearMiddleware"]);
    mock.assert_attempts(2);
}

#[tokio::test]
async fn a_retry_after_the_middleware_is_reported_once() {
    let logs = Logs::catch();
    let mock = MockVendor::start().await.script([reply(200), limited()]);
    let families = family(&mock.authority());
    let client = ClientBuilder::new(reqwest_client(false)).with(middleware(&families)).with(retries).build();
    assert_eq!(status(&client, mock.url("/a")).await, StatusCode::OK);
    assert!(reported(&logs).is_empty());
    assert_eq!(status(&client, mock.url("/b")).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reported(&logs), ["a middleware after ForbearMiddleware"]);
    mock.assert_attempts(1 + 3);
}
