//! What reqwest-middleware's own types carry past `ForbearMiddleware`.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use forbear::{Families, FamilyName, ForbearMiddleware, HealthPhase, NoWait, RetryAfterLayer};
use forbear_mock::{MockVendor, reply};
use futures_util::future::BoxFuture;
use http::{Extensions, StatusCode};
use reqwest_middleware::{ClientBuilder, Next, Result};

use crate::adapters::{family, reqwest_client};

const SECOND: Duration = Duration::from_secs(1);

/// Which attempt a middleware after `ForbearMiddleware` saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt(usize);

#[tokio::test]
async fn extensions_of_a_request_builder_reach_the_layers() {
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
    let families =
        Families::builder().family(forbear::Family::new("quotes").host("elsewhere.test")).build().unwrap();
    let client = ClientBuilder::new(reqwest_client(false))
        .with(ForbearMiddleware::new(&families).budget(30 * SECOND))
        .build();
    let asked = client.get(mock.url("/chart")).with_extension(NoWait);
    let answer = asked.with_extension(FamilyName::from_static("quotes")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    mock.assert_attempts(1);
    let health = families.health();
    assert_ne!(health.family("quotes").map(|family| family.phase), Some(HealthPhase::Open), "{health}");
}

#[tokio::test]
async fn what_the_last_attempt_left_in_the_extensions_reaches_the_caller() {
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
    let attempts = AtomicUsize::new(0);
    let client = ClientBuilder::new(reqwest_client(false))
        .with(ForbearMiddleware::new(&family(&mock.authority())).budget(30 * SECOND))
        .with(Counts(attempts))
        .build();
    let request = client.get(mock.url("/chart")).build().unwrap();
    let mut extensions = Extensions::new();
    extensions.insert("the caller's");
    let answer = client.execute_with_extensions(request, &mut extensions).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(extensions.get::<Attempt>(), Some(&Attempt(2)));
    assert_eq!(extensions.get::<&str>(), Some(&"the caller's"));
}

/// Leaves the number of each attempt.
struct Counts(AtomicUsize);

impl reqwest_middleware::Middleware for Counts {
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
            let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            extensions.insert(Attempt(number));
            next.run(request, extensions).await
        })
    }
}

#[tokio::test]
async fn what_the_middleware_is_told_of_attempts_and_bodies_holds() {
    let limited = || [reply(429).header("retry-after-ms", "1"), reply(200)];
    let mock = MockVendor::start().await.route("/once", limited()).route("/kept", limited());
    let families = family(&mock.authority());
    let middleware = || ForbearMiddleware::new(&families).budget(30 * SECOND);
    let once = middleware().attempts(NonZeroU32::MIN);
    let once = ClientBuilder::new(reqwest_client(false)).with(once).build();
    let answer = once.get(mock.url("/once")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    mock.assert_attempts_on("/once", 1);
    // More than 64 KiB are kept where it says so.
    let kept = middleware().retry_after(RetryAfterLayer::new().replay_limit(1 << 20));
    let kept = ClientBuilder::new(reqwest_client(false)).with(kept).build();
    let answer = kept.put(mock.url("/kept")).body(vec![b'x'; 200_000]).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    mock.assert_attempts_on("/kept", 2);
}
