//! Errors show no URL, and stay what they are through every client.

use std::error::Error as _;
use std::time::Duration;

use forbear::{Error, ForbearMiddleware};
use forbear_mock::{MockVendor, reply};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use reqwest_middleware::ClientBuilder;
use tokio::net::TcpListener;

use crate::adapters::{Adapter, family, get, reqwest_client, stack, through};
use crate::forwarder::Problem;

const SECOND: Duration = Duration::from_secs(1);

through!([a_clients_error_is_the_source_and_shows_no_url]);

/// All that an error shows, and what caused it.
fn shown(error: &(dyn std::error::Error + 'static)) -> String {
    let mut shown = format!("{error} {error:?}");
    let mut next = error.source();
    while let Some(cause) = next {
        shown += &format!(" | {cause} {cause:?}");
        next = cause.source();
    }
    shown
}

// http4s/http4s#6597, CVE-2024-6104, zeroclaw-labs/zeroclaw#9813: the URL of a failed call, with its key.
async fn a_clients_error_is_the_source_and_shows_no_url(adapter: Adapter) {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let mock = MockVendor::start()
        .await
        .script(reply(200).reset())
        .route("/cut", [reply(200).body("all").close_in_body(1)]);
    let vendor = adapter.around(&stack(&family(&gone), 5 * SECOND));
    for url in [format!("http://{gone}/?key=S3CRET"), mock.url("/?key=S3CRET")] {
        let error = vendor.send(get(url)).await.unwrap_err();
        let shown = shown(&*error);
        assert!(!shown.contains("S3CRET"), "{shown}");
        if matches!(adapter, Adapter::Middleware1 | Adapter::Middleware2) {
            let theirs = error.downcast_ref::<reqwest_middleware::Error>().expect("it is what it was");
            assert!(matches!(theirs, reqwest_middleware::Error::Reqwest(e) if e.is_request()), "{theirs:?}");
        } else if adapter == Adapter::Tonic {
            assert!(
                error.downcast_ref::<::tonic::Status>().is_some(),
                "it is what tonic makes of it: {error:?}"
            );
        } else if adapter.is_a_server() {
            let problem = error.downcast_ref::<Problem>().expect("the server answers");
            assert_eq!(problem.status, StatusCode::BAD_GATEWAY, "{error:?}");
        } else {
            assert!(matches!(Error::find(&*error), Some(Error::Client(_))), "{error:?}");
        }
    }
    let error = match vendor.send(get(mock.url("/cut?key=S3CRET"))).await {
        Ok(cut) => cut.into_body().collect().await.unwrap_err(),
        // A server's reset may overtake its head.
        Err(error) => error,
    };
    let shown = shown(&*error);
    assert!(!shown.contains("S3CRET"), "{shown}");
}

#[tokio::test]
async fn reqwests_own_error_is_found_below_ours() {
    let mock = MockVendor::start().await.script(reply(200).delay(60 * SECOND));
    let client = reqwest::Client::builder().no_proxy().timeout(SECOND / 10).build().unwrap();
    let vendor = stack(&family(&mock.authority()), 30 * SECOND).reqwest(client.clone());
    let error = vendor.execute(client.get(mock.url("/?key=S3CRET")).build().unwrap()).await.unwrap_err();
    let theirs = error.source().and_then(|source| source.downcast_ref::<reqwest::Error>()).unwrap();
    assert!(theirs.is_timeout() && theirs.url().is_none(), "{theirs:?}");
}

// What a request of reqwest has beside its head goes through as extensions, to a host that was asked before as well.
#[tokio::test]
async fn a_requests_own_timeout_goes_along() {
    let mock = MockVendor::start().await.script([reply(200), reply(200).delay(60 * SECOND)]);
    let client = reqwest_client(false);
    let vendor = stack(&family(&mock.authority()), 30 * SECOND).reqwest(client.clone());
    assert_eq!(vendor.execute(client.get(mock.url("/")).build().unwrap()).await.unwrap().status(), 200);
    let slow = client.get(mock.url("/")).timeout(SECOND / 10).build().unwrap();
    let error = vendor.execute(slow).await.unwrap_err();
    let theirs = error.source().and_then(|source| source.downcast_ref::<reqwest::Error>()).unwrap();
    assert!(theirs.is_timeout(), "{theirs:?}");
}

#[tokio::test]
async fn a_url_that_reqwest_does_not_take_is_an_error_that_does_not_show_it() {
    let families = forbear::Families::builder().build().unwrap();
    let client = reqwest_client(false);
    let vendor = stack(&families, SECOND).reqwest(client.clone());
    let middleware =
        ClientBuilder::new(client).with(ForbearMiddleware::from(stack(&families, SECOND))).build();
    for url in ["/chart?key=S3CRET", "ftp://files.test/?key=S3CRET", "http://a_b:99999/?key=S3CRET"] {
        let Ok(request) = Request::get(url).body(reqwest::Body::default()) else { continue };
        let error = vendor.send(request).await.unwrap_err();
        let shown = shown(&error);
        assert!(matches!(error, Error::Client(_)) && !shown.contains("S3CRET"), "{shown}");
    }
    for url in ["ftp://files.test/?key=S3CRET", "data:text/plain,S3CRET", "unix:/run/S3CRET"] {
        let request = reqwest::Request::new(http::Method::GET, url.parse().unwrap());
        let error = vendor.execute(request.try_clone().unwrap()).await.unwrap_err();
        let shown_by_stack = shown(&error);
        assert!(matches!(error, Error::Client(_)) && !shown_by_stack.contains("S3CRET"), "{shown_by_stack}");
        let error = middleware.execute(request).await.unwrap_err();
        let shown = shown(&error);
        assert!(
            matches!(error, reqwest_middleware::Error::Reqwest(_)) && !shown.contains("S3CRET"),
            "{shown}"
        );
    }
}
